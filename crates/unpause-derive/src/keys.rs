//! `#[derive(Keys)]`.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, GenericArgument, LitStr, PathArguments,
    Result, Token, Type,
};

/// The words of `#[key(…)]` and of `#[keys(…)]`.
const WORDS: &str = "default, unset, sets, from, idle, via, flatten";

/// The attribute of a field or of a table.
#[derive(Default)]
struct Words {
    path: Option<LitStr>,
    default: Option<TokenStream>,
    unset: Option<TokenStream>,
    /// A key may set several parameters.
    sets: Vec<TokenStream>,
    from: Option<TokenStream>,
    idle: Option<TokenStream>,
    via: Option<TokenStream>,
    flatten: Option<TokenStream>,
}

impl Parse for Words {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut words = Self::default();
        if input.peek(LitStr) {
            words.path = Some(input.parse()?);
            input.parse::<Option<Token![,]>>()?;
        }
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            let slot = match word.to_string().as_str() {
                "sets" => {
                    words.sets.push(value(input)?);
                    continue;
                }
                "default" => &mut words.default,
                "unset" => &mut words.unset,
                "from" => &mut words.from,
                "idle" => &mut words.idle,
                "via" => &mut words.via,
                "flatten" => &mut words.flatten,
                other => {
                    let message = format!("`{other}` is none of {WORDS}");
                    return Err(Error::new(word.span(), message));
                }
            };
            if slot.replace(value(input)?).is_some() {
                let message = format!("`{word}` is written twice");
                return Err(Error::new(word.span(), message));
            }
        }
        Ok(words)
    }
}

/// The tokens between `=` and the next comma, which the compiler parses where they stand; of `flatten` none.
fn value(input: ParseStream<'_>) -> Result<TokenStream> {
    let mut value = TokenStream::new();
    if input.parse::<Option<Token![=]>>()?.is_some() {
        while !input.is_empty() && !input.peek(Token![,]) {
            value.extend([input.parse::<TokenTree>()?]);
        }
    }
    input.parse::<Option<Token![,]>>()?;
    Ok(value)
}

/// The words of the attribute of this name; none if there is no such attribute.
fn words(attributes: &[Attribute], name: &str) -> Result<Words> {
    let mut all = attributes.iter().filter(|one| one.path().is_ident(name));
    all.next()
        .map_or(Ok(Words::default()), Attribute::parse_args)
}

/// The lines of a doc comment, as one.
fn meaning(attributes: &[Attribute]) -> Result<String> {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|one| one.path().is_ident("doc")) {
        let value = &attribute.meta.require_name_value()?.value;
        let line: LitStr = syn::parse2(quote!(#value))?;
        lines.push(line.value().trim().to_owned());
    }
    Ok(lines.join(" "))
}

/// How a field holds its key.
enum Holder {
    /// `Spanned<T>`: it must be written.
    Spanned,
    /// `Written<T>`: it may be.
    Written,
    /// `Param<T>`: it may be, and sets a parameter.
    Param,
    /// `WithDefault<T>`: it has a value in any case.
    WithDefault,
    /// Any other type: the value alone.
    Plain,
    /// A struct of more keys of the same table.
    Flatten,
}

/// A field, taken apart.
struct Key<'a> {
    name: &'a Ident,
    text: String,
    holder: Holder,
    /// The type of the value.
    value: &'a Type,
    meaning: String,
    words: Words,
}

impl<'a> Key<'a> {
    fn of(field: &'a Field) -> Result<Self> {
        let name = field.ident.as_ref().expect("fields have names");
        let words = words(&field.attrs, "key")?;
        let (holder, value) = match words.flatten {
            Some(_) => (Holder::Flatten, &field.ty),
            None => holder(&field.ty),
        };
        let key = Self {
            name,
            text: name.to_string(),
            holder,
            value,
            meaning: meaning(&field.attrs)?,
            words,
        };
        match key.fault() {
            Some(fault) => Err(Error::new_spanned(field, format!("`{name}` {fault}"))),
            None => Ok(key),
        }
    }

    /// Words that do not fit the type of the field.
    fn fault(&self) -> Option<&'static str> {
        let Words {
            default,
            unset,
            sets,
            idle,
            ..
        } = &self.words;
        let (defaults, is_unset, idles) = (default.is_some(), unset.is_some(), idle.is_some());
        Some(match self.holder {
            Holder::Flatten => return None,
            _ if self.meaning.is_empty() => "needs a doc comment: the meaning of the key",
            Holder::Spanned if defaults || is_unset || idles => "is `Spanned`: it must be written",
            Holder::Written if defaults => "has a default: write `WithDefault`",
            Holder::WithDefault if is_unset => "is `WithDefault`: write `default`",
            Holder::Plain if idles => "is a plain value, which is always read",
            Holder::Param => return None,
            _ if !sets.is_empty() => "sets a parameter: write `Param`",
            _ => return None,
        })
    }

    /// Its type while the table is read.
    fn reader(&self) -> TokenStream {
        let (value, written) = (self.value, self.written());
        match self.holder {
            Holder::Flatten => quote!(<#value as crate::text::keys::Keys>::Reader),
            Holder::Plain => quote!(Option<#written>),
            _ => quote!(Option<serde_spanned::Spanned<#written>>),
        }
    }

    /// The type of the value in the file.
    fn written(&self) -> TokenStream {
        let value = self.value;
        match (&self.holder, &self.words.via) {
            (_, Some(via)) => via.clone(),
            (Holder::Plain, None) => quote!(<#value as crate::text::kind::Plain>::Written),
            _ => quote!(#value),
        }
    }

    /// Its value after the table has been read.
    fn finish(&self) -> TokenStream {
        let (name, text) = (self.name, &self.text);
        let default = self.words.default.as_ref();
        match (&self.holder, default) {
            (Holder::Flatten, _) => {
                quote!(crate::text::keys::Reader::finish(self.#name)?)
            }
            (Holder::Spanned, _) => quote!(crate::text::keys::required(self.#name, #text)?),
            (Holder::Written | Holder::Param, _) => quote!(self.#name.into()),
            (Holder::WithDefault, Some(value)) => {
                quote!(crate::text::keys::WithDefault::new(self.#name, #value))
            }
            (Holder::WithDefault, None) => {
                quote!(crate::text::keys::WithDefault::new(self.#name, Default::default()))
            }
            (Holder::Plain, Some(value)) => quote!(self.#name.map_or(#value, Into::into)),
            (Holder::Plain, None) if self.words.unset.is_some() => {
                quote!(self.#name.map(Into::into).unwrap_or_default())
            }
            (Holder::Plain, None) => {
                quote!(crate::text::keys::required(self.#name, #text)?.into())
            }
        }
    }

    /// Paths of the parameters that it sets: of its own name unless others are written.
    fn slots(&self) -> Vec<TokenStream> {
        let name = self.name;
        match self.holder {
            Holder::Param if self.words.sets.is_empty() => vec![quote!(#name)],
            _ => self.words.sets.clone(),
        }
    }

    /// Its description for documents.
    fn described(&self, table: &Words) -> TokenStream {
        let (name, value, meaning) = (&self.text, self.value, &self.meaning);
        let keys = quote!(crate::text::keys);
        let default = self.words.default.as_ref();
        let or_default = default.map_or(quote!(Default::default()), TokenStream::clone);
        let default = match (&self.holder, &self.words.unset) {
            (Holder::Flatten, _) => {
                return quote!(all.extend(<#value as #keys::Keys>::keys(&Default::default())););
            }
            (Holder::Spanned, _) => quote!(#keys::KeyDefault::Required),
            (_, Some(unset)) => quote!(#keys::KeyDefault::from(#unset)),
            (Holder::Plain, None) if default.is_none() => quote!(#keys::KeyDefault::Required),
            (Holder::Plain | Holder::WithDefault, None) => quote!({
                let value: #value = #or_default;
                #keys::KeyDefault::Value(value.to_string())
            }),
            (Holder::Param, None) => {
                let slot = &self.slots()[0];
                quote!(#keys::KeyDefault::Value(
                    crate::text::setting::show::<_, #value>(&params.#slot)
                ))
            }
            (Holder::Written, None) => quote!(#keys::KeyDefault::from("-")),
        };
        let from = self.words.from.as_ref().or(table.from.as_ref());
        let from = from.map_or(quote!(""), TokenStream::clone);
        let written = self.written();
        quote!(all.push(#keys::Key {
            name: #name,
            kind: <#written as crate::text::kind::HasKind>::kind(),
            default: #default,
            description: #meaning,
            origin: #from,
        });)
    }

    /// Sets its parameters.
    fn apply(&self) -> Vec<TokenStream> {
        let (name, text) = (self.name, &self.text);
        let one = |slot: &TokenStream| quote!(crate::text::keys::set(#text, &self.#name, &mut params.#slot)?;);
        self.slots().iter().map(one).collect()
    }

    /// Its name, its place, and whether somebody has read it.
    fn entry(&self, table: &Words) -> Option<TokenStream> {
        let (name, text) = (self.name, &self.text);
        match self.holder {
            Holder::Flatten => {
                Some(quote!(all.extend(crate::text::keys::Keys::entries(&self.#name));))
            }
            Holder::Written | Holder::Param | Holder::WithDefault => {
                let idle = self.words.idle.as_ref().or(table.idle.as_ref());
                let idle = idle.map_or(quote!(None), |idle| quote!(Some(#idle)));
                let key = quote!((Self::PATH, #text));
                Some(quote!(all.push(crate::text::keys::entry(#key, &self.#name, #idle));))
            }
            Holder::Spanned | Holder::Plain => None,
        }
    }
}

/// How a field of this type holds its key, and the type of the value.
fn holder(of: &Type) -> (Holder, &Type) {
    if let Type::Path(path) = of
        && let Some(last) = path.path.segments.last()
        && let PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(GenericArgument::Type(value)) = arguments.args.first()
    {
        let holder = match last.ident.to_string().as_str() {
            "Spanned" => Holder::Spanned,
            "Written" => Holder::Written,
            "Param" => Holder::Param,
            "WithDefault" => Holder::WithDefault,
            _ => return (Holder::Plain, of),
        };
        return (holder, value);
    }
    (Holder::Plain, of)
}

/// A table: the attribute of its struct, and its keys.
struct Table<'a> {
    input: &'a DeriveInput,
    words: Words,
    path: LitStr,
    keys: Vec<Key<'a>>,
}

impl<'a> Table<'a> {
    fn of(input: &'a DeriveInput) -> Result<Self> {
        let ident = &input.ident;
        let fields = match &input.data {
            Data::Struct(data) if matches!(data.fields, Fields::Named(_)) => &data.fields,
            _ => {
                let message = "only a struct of named fields has `Keys`";
                return Err(Error::new_spanned(ident, message));
            }
        };
        let words = words(&input.attrs, "keys")?;
        let path = words.path.clone().ok_or_else(|| {
            let message = "the path of the table is missing: `#[keys(\"switch.cioq\")]`";
            Error::new_spanned(ident, message)
        })?;
        let mut keys = Vec::new();
        let mut faults: Option<Error> = None;
        for field in fields {
            match (Key::of(field), &mut faults) {
                (Ok(key), _) => keys.push(key),
                (Err(fault), Some(all)) => all.combine(fault),
                (Err(fault), None) => faults = Some(fault),
            }
        }
        match faults {
            Some(faults) => Err(faults),
            None => Ok(Self {
                input,
                words,
                path,
                keys,
            }),
        }
    }

    /// The name of the type that holds the keys while the table is read.
    fn reader_name(&self) -> Ident {
        format_ident!("{}Reader", self.input.ident)
    }

    /// The type that holds the keys while the table is read.
    fn reader(&self) -> TokenStream {
        let (ident, visibility) = (&self.input.ident, &self.input.vis);
        let reader = self.reader_name();
        let keys = &self.keys;
        let (flat, own): (Vec<_>, Vec<_>) = keys
            .iter()
            .partition(|key| matches!(key.holder, Holder::Flatten));
        let own_names: Vec<_> = own.iter().map(|key| key.name).collect();
        let own_texts: Vec<_> = own.iter().map(|key| &key.text).collect();
        let flat_readers: Vec<_> = flat.iter().map(|key| key.reader()).collect();
        let flat_names: Vec<_> = flat.iter().map(|key| key.name).collect();
        let all_names: Vec<_> = keys.iter().map(|key| key.name).collect();
        let readers: Vec<_> = keys.iter().map(Key::reader).collect();
        let finished: Vec<_> = keys.iter().map(Key::finish).collect();
        quote! {
            #[derive(Default)]
            #visibility struct #reader { #(#all_names: #readers),* }

            #[automatically_derived]
            impl crate::text::keys::Reader for #reader {
                type Keys = #ident;

                fn knows(name: &str) -> bool {
                    [#(#own_texts),*].contains(&name) #(|| <#flat_readers>::knows(name))*
                }

                fn read<'de, M: serde::de::MapAccess<'de>>(
                    &mut self, name: &str, map: &mut M,
                ) -> Result<bool, M::Error> {
                    #(if name == #own_texts {
                        self.#own_names = Some(map.next_value()?);
                        return Ok(true);
                    })*
                    Ok(false #(|| self.#flat_names.read(name, map)?)*)
                }

                fn finish<E: serde::de::Error>(self) -> Result<#ident, E> {
                    Ok(#ident { #(#all_names: #finished),* })
                }
            }
        }
    }

    /// The implementation of `Keys`.
    fn implementation(&self) -> TokenStream {
        let (ident, path, reader) = (&self.input.ident, &self.path, self.reader_name());
        let keys = self.keys.iter();
        let params = self.words.sets.first().cloned().unwrap_or(quote!(()));
        let described: Vec<_> = keys.clone().map(|key| key.described(&self.words)).collect();
        let applied: Vec<_> = keys.clone().flat_map(Key::apply).collect();
        let entries: Vec<_> = keys.filter_map(|key| key.entry(&self.words)).collect();
        quote! {
            #[automatically_derived]
            #[allow(unused_variables, unused_mut, reason = "a table may set no parameters")]
            impl crate::text::keys::Keys for #ident {
                const PATH: &'static str = #path;
                type Params = #params;
                type Reader = #reader;

                fn keys(params: &Self::Params) -> Vec<crate::text::keys::Key> {
                    let mut all = Vec::new();
                    #(#described)*
                    all
                }

                fn apply(&self, params: &mut Self::Params) -> unpause_text::error::Checked<()> {
                    #(#applied)*
                    Ok(())
                }

                fn entries(&self) -> Vec<crate::text::keys::Entry> {
                    let mut all = Vec::new();
                    #(#entries)*
                    all
                }
            }
        }
    }

    /// `Default`, if the table may be empty.
    fn default(&self) -> Option<TokenStream> {
        let ident = &self.input.ident;
        let is_required = |key: &Key<'_>| match key.holder {
            Holder::Spanned => true,
            Holder::Plain => key.words.default.is_none(),
            _ => false,
        };
        (!self.keys.iter().any(is_required)).then(|| {
            quote!(impl Default for #ident {
                fn default() -> Self {
                    crate::text::keys::of_nothing()
                }
            })
        })
    }
}

/// The code that `#[derive(Keys)]` adds to a struct.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let table = Table::of(input)?;
    let ident = &input.ident;
    let (reader, keys, default) = (table.reader(), table.implementation(), table.default());
    Ok(quote! {
        const _: () = {
            #reader
            #keys

            #[automatically_derived]
            impl<'de> serde::Deserialize<'de> for #ident {
                fn deserialize<D: serde::Deserializer<'de>>(
                    deserializer: D,
                ) -> Result<Self, D::Error> {
                    crate::text::keys::deserialize(deserializer)
                }
            }

            impl crate::text::kind::HasKind for #ident {
                fn kind() -> crate::text::kind::Kind {
                    crate::text::kind::Kind::table("table")
                }

                fn unread(&self) -> Vec<crate::text::keys::Unread> {
                    crate::text::keys::Keys::unread(self)
                }
            }

            #default
        };
    })
}

#[cfg(test)]
mod tests;
