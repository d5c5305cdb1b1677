//! How long functions are.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::source::Source;

/// A function with a body.
pub struct Function {
    /// Its type, if it is a method, and its name: `Cioq::new`.
    pub name: String,
    /// Lines from `fn` to the closing brace.
    pub lines: usize,
}

/// The functions of a file, tests included.
pub fn functions(source: &Source) -> Vec<Function> {
    let mut finder = Finder::default();
    finder.visit_file(&source.ast);
    finder.found
}

#[derive(Default)]
struct Finder {
    of: Option<String>,
    found: Vec<Function>,
}

impl Finder {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let name = signature.ident.to_string();
        let first = signature.span().start().line;
        self.found.push(Function {
            name: self
                .of
                .as_ref()
                .map_or(name.clone(), |of| format!("{of}::{name}")),
            lines: block.span().end().line + 1 - first,
        });
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_fn(&mut self, it: &'ast syn::ItemFn) {
        self.add(&it.sig, &it.block);
        visit::visit_item_fn(self, it);
    }
    fn visit_impl_item_fn(&mut self, it: &'ast syn::ImplItemFn) {
        self.add(&it.sig, &it.block);
        visit::visit_impl_item_fn(self, it);
    }
    fn visit_trait_item_fn(&mut self, it: &'ast syn::TraitItemFn) {
        if let Some(block) = &it.default {
            self.add(&it.sig, block);
        }
        visit::visit_trait_item_fn(self, it);
    }
    fn visit_item_impl(&mut self, it: &'ast syn::ItemImpl) {
        let of = match &*it.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let outer = std::mem::replace(&mut self.of, of);
        visit::visit_item_impl(self, it);
        self.of = outer;
    }
}
