//! Which file of a crate needs which other.
//!
//! A file needs another if it names something that is declared there, in a `use` or in a path. Names
//! that a module hands on by `pub use` count where they are declared, and handing on alone is no need.
//! Tests do not count: neither modules under `cfg(test)` nor files called `tests.rs`.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Item, UseTree, Visibility};

use crate::source::Source;

/// Dependencies: of files by their paths, or of rooms.
pub type Needs = BTreeMap<String, BTreeSet<String>>;

/// The names of its crate that a file uses and defines.
#[derive(Default)]
struct Names {
    /// Name here, path as written; `*` for all names of that path.
    imported: Vec<(String, Vec<String>)>,
    /// The same for `pub use`.
    handed_on: Vec<(String, Vec<String>)>,
    /// Paths in code.
    used: BTreeSet<Vec<String>>,
}

/// Files of one crate.
struct Crate<'a> {
    sources: &'a [Source],
    modules: BTreeMap<&'a [String], usize>,
    names: Vec<Names>,
}

/// The files that each file of a crate depends on.
pub fn needs(sources: &[Source]) -> Needs {
    let all = Crate {
        sources,
        modules: (sources.iter().zip(0..))
            .map(|(source, file)| (&source.module[..], file))
            .collect(),
        names: sources
            .iter()
            .map(|source| names(&source.ast.items))
            .collect(),
    };
    let path = |file: usize| sources[file].path.clone();
    (0..sources.len())
        .map(|file| (path(file), all.needs(file).into_iter().map(path).collect()))
        .collect()
}

/// For each folder, what each file and folder in it needs of the others in it. A folder's `mod.rs` is
/// not in it: it may need all of them.
pub fn rooms(files: &Needs) -> BTreeMap<String, Needs> {
    let mut rooms: BTreeMap<String, Needs> = BTreeMap::new();
    for (file, needed) in files {
        for other in needed {
            let (a, b): (Vec<&str>, Vec<&str>) =
                (file.split('/').collect(), other.split('/').collect());
            let depth = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            let of_folder = |name: &str| matches!(name, "mod.rs" | "lib.rs" | "main.rs");
            if !of_folder(a[depth]) && !of_folder(b[depth]) {
                let folder = rooms.entry(a[..depth].join("/")).or_default();
                folder
                    .entry(a[depth].into())
                    .or_default()
                    .insert(b[depth].into());
            }
        }
    }
    rooms
}

impl Crate<'_> {
    fn needs(&self, file: usize) -> BTreeSet<usize> {
        if self.sources[file]
            .module
            .last()
            .is_some_and(|name| name == "tests")
        {
            return BTreeSet::new();
        }
        let names = &self.names[file];
        let mut needed = BTreeSet::new();
        for (_, path) in &names.imported {
            // A module that is imported is needed for what is named by it.
            if let Some(path) = self.absolute(file, path)
                && !self.modules.contains_key(&path[..])
            {
                needed.extend(self.declared(&path, 0));
            }
        }
        for path in &names.used {
            let imported = names.imported.iter().find(|(name, _)| *name == path[0]);
            let path = match imported {
                Some((_, import)) => [import, &path[1..]].concat(),
                None => path.clone(),
            };
            if let Some(path) = self.absolute(file, &path) {
                needed.extend(self.declared(&path, 0));
            }
        }
        needed.remove(&file);
        needed
    }

    /// `path`, as written in `file`, from the root of the crate; none if it leads out of it.
    fn absolute(&self, file: usize, path: &[String]) -> Option<Vec<String>> {
        let here = &self.sources[file].module;
        let mut from = here.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                from.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    from.pop();
                    rest = &rest[1..];
                }
            }
            child => {
                from.push(child.to_owned());
                self.modules.get(&from[..])?;
                from.pop();
            }
        }
        Some([&from, rest].concat())
    }

    /// The file in which `path` is declared.
    fn declared(&self, path: &[String], depth: usize) -> Option<usize> {
        let (length, file) = (0..=path.len())
            .rev()
            .find_map(|length| Some((length, *self.modules.get(&path[..length])?)))?;
        let Some(name) = path.get(length).filter(|_| depth < 8) else {
            return Some(file);
        };
        let handed_on = &self.names[file].handed_on;
        for (named, target) in handed_on {
            if named == name || named == "*" {
                let mut target = target.clone();
                if named == "*" {
                    target.push(name.clone());
                }
                if let Some(target) = self.absolute(file, &target)
                    && let Some(found) = self.declared(&target, depth + 1)
                    && (named != "*" || self.declares(found, name))
                {
                    return Some(found);
                }
            }
        }
        Some(file)
    }

    fn declares(&self, file: usize, name: &str) -> bool {
        let declared = |item: &Item| {
            let text = match item {
                Item::Const(it) => &it.ident,
                Item::Enum(it) => &it.ident,
                Item::Fn(it) => &it.sig.ident,
                Item::Static(it) => &it.ident,
                Item::Struct(it) => &it.ident,
                Item::Trait(it) => &it.ident,
                Item::Type(it) => &it.ident,
                _ => return false,
            };
            text == name
        };
        self.sources[file].ast.items.iter().any(declared)
    }
}

fn names(items: &[Item]) -> Names {
    let mut names = Names::default();
    gather(items, &mut names);
    names
}

fn gather(items: &[Item], names: &mut Names) {
    for item in items {
        match item {
            Item::Use(it) if !is_test(&it.attrs) => {
                let to = match it.vis {
                    Visibility::Inherited => &mut names.imported,
                    _ => &mut names.handed_on,
                };
                flatten(&it.tree, Vec::new(), to);
            }
            Item::Mod(it) if !is_test(&it.attrs) => {
                if let Some((_, items)) = &it.content {
                    gather(items, names);
                }
            }
            Item::Use(_) | Item::Mod(_) => {}
            other => paths(other.to_token_stream(), &mut names.used),
        }
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.to_token_stream().to_string().contains("test")
    })
}

fn flatten(tree: &UseTree, mut before: Vec<String>, to: &mut Vec<(String, Vec<String>)>) {
    match tree {
        UseTree::Path(it) => {
            before.push(it.ident.to_string());
            flatten(&it.tree, before, to);
        }
        UseTree::Name(it) if it.ident == "self" => {
            to.push((before.last().cloned().unwrap_or_default(), before));
        }
        UseTree::Name(it) => {
            before.push(it.ident.to_string());
            to.push((it.ident.to_string(), before));
        }
        UseTree::Rename(it) => {
            before.push(it.ident.to_string());
            to.push((it.rename.to_string(), before));
        }
        UseTree::Glob(_) => to.push(("*".into(), before)),
        UseTree::Group(it) => {
            for tree in &it.items {
                flatten(tree, before.clone(), to);
            }
        }
    }
}

/// Names joined by `::`, at any depth of `tokens`, but not in `quote!(…)`: that is code of other crates.
fn paths(tokens: TokenStream, found: &mut BTreeSet<Vec<String>>) {
    let mut path: Vec<String> = Vec::new();
    let mut colons = 0;
    let mut is_quoted = false;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if colons != 2 {
                    finish(&mut path, found);
                }
                path.push(ident.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Group(group) => {
                finish(&mut path, found);
                colons = 0;
                if !std::mem::take(&mut is_quoted) {
                    paths(group.stream(), found);
                }
            }
            _ => {
                is_quoted = path == ["quote"] && token.to_string() == "!";
                finish(&mut path, found);
                colons = 0;
            }
        }
    }
    finish(&mut path, found);
}

fn finish(path: &mut Vec<String>, found: &mut BTreeSet<Vec<String>>) {
    let path = std::mem::take(path);
    if path.len() > 1 {
        found.insert(path);
    }
}

/// A circle, if there is one: each needs the next, and the last the first.
pub fn circle(needs: &Needs) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    needs
        .keys()
        .find_map(|start| walk(start, needs, &mut Vec::new(), &mut done))
}

fn walk<'a>(
    at: &'a String,
    needs: &'a Needs,
    way: &mut Vec<&'a String>,
    done: &mut BTreeSet<&'a String>,
) -> Option<Vec<String>> {
    if let Some(first) = way.iter().position(|seen| *seen == at) {
        return Some(way[first..].iter().map(|name| name.to_string()).collect());
    }
    if done.contains(at) {
        return None;
    }
    way.push(at);
    let found = needs
        .get(at)
        .into_iter()
        .flatten()
        .find_map(|next| walk(next, needs, way, done));
    way.pop();
    done.insert(at);
    found
}
