//! `#[derive(Show)]`: which parts of a state advance with time, as words at its fields.
//!
//! The trait is `unpause_protocols::state_visitor::Show`, and values are passed to a `StateVisitor` of the same module, in the order of the
//! fields. Every field needs at least one attribute; without one the struct does not compile:
//!
//! | attribute | the field |
//! |---|---|
//! | `#[show(same)]` | has to be what it was: a number, a flag, a time, a rate |
//! | `#[show(time)]` | is a time, or an option of one, that advances with the run or stays |
//! | `#[show(earliest)]` | is the earliest of times |
//! | `#[show(deadline)]` | is when a timer is due that has not run out in the meantime |
//! | `#[show(total)]` | counts what has happened, or how long: it grows, and decides nothing |
//! | `#[show(nested)]` | is a state that has `show` itself, or a slice of such states |
//! | `#[show(refuse_if = EXPR)]` | cannot be extrapolated if EXPR is true; then nothing of the state is shown |
//! | `#[show(by = EXPR)]` | is shown by EXPR, which uses `visitor` |
//! | `#[show(skip)]`, `#[show(skip = "why")]` | is a setting, or follows from others, or decides nothing |
//!
//! `same` and `deadline` also take a value: `#[show(same = flows.len())]`. In an EXPR, each field is a mutable reference of its
//! name. A field that needs several attributes has several, but `skip` is alone.
//!
//! ```
//! use unpause_protocols::state_visitor::Show;
//! use unpause_protocols::units::Time;
//!
//! #[derive(Show)]
//! struct Timer {
//!     #[show(skip)]
//!     interval: Time,
//!     #[show(time)]
//!     next: Time,
//!     #[show(total)]
//!     expired: u64,
//! }
//! ```
//!
//! A field without a word is an error:
//!
//! ```compile_fail
//! use unpause_protocols::state_visitor::Show;
//! use unpause_protocols::units::Time;
//!
//! #[derive(Show)]
//! struct Timer {
//!     #[show(skip)]
//!     interval: Time,
//!     next: Time,
//!     #[show(total)]
//!     expired: u64,
//! }
//! ```
//!
//! At the type itself, `#[show(refuse)]` says that the state cannot be extrapolated; fields then need no word.
//! `#[show(pub fn show(plan: &Plan))]` derives a method of that name that takes something else, too, instead of the trait.
//! Of an enum, the variant is a value that has to stay the same; `#[show(refuse)]` is also possible at a variant.

mod keys;
mod names;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, LitStr, Result, Token, Visibility};

/// Derives `Show` of `unpause_protocols::state_visitor`; see the [crate](self).
#[proc_macro_derive(Show, attributes(show))]
pub fn derive_show(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    let code = expand(&input).unwrap_or_else(Error::into_compile_error);
    code.into()
}

/// Derives `Keys`: the keys of a table of a scenario file are the fields of a struct. The
/// doc comment of a field is the meaning of its key.
///
/// | field | the key |
/// |---|---|
/// | `Spanned<T>` | must be written |
/// | `Written<T>` | may be; `#[key(unset = "words")]` says what happens if it is not |
/// | `WithDefault<T>` | has `T::default()` if it is not written, or `#[key(default = EXPR)]` |
/// | `Param<T>` | sets the parameter of its name, or `#[key(sets = path.to.it)]`, which has its default |
/// | `#[key(flatten)]` | more keys of the same table, of another struct |
/// | any other type | is the plain value, and must be written unless it has a `default` |
///
/// `from = "…"` is the source of a default, `idle = ("why", "what to do")` the message where nobody reads the key. At the
/// struct, `#[keys("path", sets = Params, from = "…", idle = …)]` names the table and the parameters; its `from` and `idle` are
/// for the keys without one.
#[proc_macro_derive(Keys, attributes(key, keys))]
pub fn derive_keys(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    let code = keys::expand(&input).unwrap_or_else(Error::into_compile_error);
    code.into()
}

/// Derives `Names` of `unpause_protocols::names`: each variant has its name in kebab case, or `#[name = "…"]`.
#[proc_macro_derive(Names, attributes(name))]
pub fn derive_names(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    let code = names::expand(&input).unwrap_or_else(Error::into_compile_error);
    code.into()
}

/// An attribute of a field.
enum Word {
    Same(Option<TokenStream>),
    Time,
    Earliest,
    Deadline(Option<TokenStream>),
    Total,
    Nested,
    RefuseIf(TokenStream),
    By(TokenStream),
    Skip,
}

const WORDS: &str = "same, time, earliest, deadline, total, nested, refuse_if, by, skip";

impl Parse for Word {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let word: Ident = input.parse()?;
        Ok(match word.to_string().as_str() {
            "same" => Self::Same(value(input)?),
            "time" => Self::Time,
            "earliest" => Self::Earliest,
            "deadline" => Self::Deadline(value(input)?),
            "total" => Self::Total,
            "nested" => Self::Nested,
            "refuse_if" => Self::RefuseIf(needed(value(input)?, &word)?),
            "by" => Self::By(needed(value(input)?, &word)?),
            "skip" => {
                reason(input)?;
                Self::Skip
            }
            other => {
                let message = format!("`{other}` is none of {WORDS}");
                return Err(Error::new(word.span(), message));
            }
        })
    }
}

/// The tokens after `=`, if there is one. They are not parsed: the compiler does that where they stand.
fn value(input: ParseStream<'_>) -> Result<Option<TokenStream>> {
    if !input.peek(Token![=]) {
        return Ok(None);
    }
    input.parse::<Token![=]>()?;
    if input.is_empty() {
        return Err(input.error("an expression is missing"));
    }
    input.parse().map(Some)
}

fn needed(value: Option<TokenStream>, word: &Ident) -> Result<TokenStream> {
    let message = || format!("`{word}` needs an expression: `#[show({word} = …)]`");
    value.ok_or_else(|| Error::new(word.span(), message()))
}

fn reason(input: ParseStream<'_>) -> Result<()> {
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        input.parse::<LitStr>()?;
    }
    Ok(())
}

/// An attribute of a type or a variant.
enum Whole {
    Refuse,
    Function {
        visibility: Visibility,
        name: Ident,
        arguments: TokenStream,
    },
}

impl Parse for Whole {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let visibility: Visibility = input.parse()?;
        if input.peek(Token![fn]) {
            input.parse::<Token![fn]>()?;
            let name = input.parse()?;
            let inside;
            syn::parenthesized!(inside in input);
            let arguments = inside.parse()?;
            return Ok(Self::Function {
                visibility,
                name,
                arguments,
            });
        }
        let word: Ident = input.parse()?;
        if word != "refuse" {
            let message = "here is either `refuse` or a function with its arguments";
            return Err(Error::new(word.span(), message));
        }
        reason(input)?;
        Ok(Self::Refuse)
    }
}

/// Parses the attributes `show`.
fn said<T: Parse>(attributes: &[Attribute]) -> Result<Vec<T>> {
    let ours = attributes.iter().filter(|it| it.path().is_ident("show"));
    ours.map(|it| it.parse_args()).collect()
}

/// The code for some fields.
struct Shown {
    /// Binds each to its name.
    pattern: TokenStream,
    refusals: Vec<TokenStream>,
    values: Vec<TokenStream>,
}

impl Shown {
    fn of(fields: &Fields) -> Result<Self> {
        let (mut refusals, mut values) = (Vec::new(), Vec::new());
        let mut names = Vec::new();
        let mut faults: Option<Error> = None;
        for (number, field) in fields.iter().enumerate() {
            let numbered = || format_ident!("field_{number}");
            let name = field.ident.clone().unwrap_or_else(numbered);
            match words(field, &name) {
                Ok(words) => {
                    for word in words {
                        match word {
                            Word::RefuseIf(when) => refusals.push(when),
                            word => values.extend(code(word, &name)),
                        }
                    }
                }
                Err(fault) => match &mut faults {
                    Some(all) => all.combine(fault),
                    None => faults = Some(fault),
                },
            }
            names.push(name);
        }
        let pattern = match fields {
            Fields::Named(_) => quote!({ #(#names),* }),
            Fields::Unnamed(_) => quote!((#(#names),*)),
            Fields::Unit => TokenStream::new(),
        };
        let shown = Self {
            pattern,
            refusals,
            values,
        };
        faults.map_or(Ok(shown), Err)
    }

    /// Refuses first, so that the work for what is not compared is not done.
    fn body(&self) -> TokenStream {
        let Self {
            refusals, values, ..
        } = self;
        let refuses = (!refusals.is_empty())
            .then(|| quote!(if #((#refusals))||* { return visitor.refuse(); }));
        quote!(#refuses #(#values)*)
    }
}

/// The attributes of a field; none is an error.
fn words(field: &Field, name: &Ident) -> Result<Vec<Word>> {
    let words = said(&field.attrs)?;
    let skips = words.iter().any(|it| matches!(it, Word::Skip));
    let fault = match words.len() {
        0 => format!("`{name}` needs `#[show(…)]`, with one of {WORDS}"),
        2.. if skips => format!("`{name}` is skipped and shown"),
        _ => return Ok(words),
    };
    Err(Error::new_spanned(field, fault))
}

/// Shows a value.
fn code(word: Word, name: &Ident) -> Option<TokenStream> {
    Some(match word {
        Word::Same(None) => quote!(#name.show_same(visitor);),
        Word::Same(Some(value)) => quote!({
            let value = #value;
            value.show_same(visitor);
        }),
        Word::Time => quote!(#name.show_time(visitor);),
        Word::Earliest => quote!(visitor.earliest(#name);),
        Word::Deadline(None) => quote!(visitor.deadline(*#name);),
        Word::Deadline(Some(time)) => quote!(visitor.deadline(#time);),
        Word::Total => quote!(#name.show_total(visitor);),
        Word::Nested => quote!(#name.show(visitor);),
        Word::By(code) => quote!(#code;),
        Word::RefuseIf(_) | Word::Skip => return None,
    })
}

/// Shows all of a state.
fn body(input: &DeriveInput) -> Result<TokenStream> {
    match &input.data {
        Data::Struct(data) => {
            let shown = Shown::of(&data.fields)?;
            let (pattern, body) = (&shown.pattern, shown.body());
            Ok(quote!(let Self #pattern = self; #body))
        }
        Data::Enum(data) => {
            let arms = (0u64..).zip(&data.variants).map(|(number, variant)| {
                let name = &variant.ident;
                match said(&variant.attrs)?.first() {
                    Some(Whole::Refuse) => {
                        return Ok(quote!(Self::#name { .. } => visitor.refuse(),));
                    }
                    Some(_) => return Err(Error::new_spanned(name, "a variant can only refuse")),
                    None => {}
                }
                let shown = Shown::of(&variant.fields)?;
                let (pattern, body) = (&shown.pattern, shown.body());
                Ok(quote!(Self::#name #pattern => { visitor.same(#number); #body }))
            });
            let arms = arms.collect::<Result<Vec<_>>>()?;
            Ok(quote!(match self { #(#arms)* }))
        }
        Data::Union(_) => Err(Error::new_spanned(&input.ident, "a union has no `Show`")),
    }
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let whole = said(&input.attrs)?;
    if whole.len() > 1 {
        let message = "one attribute `show` is enough here";
        return Err(Error::new_spanned(&input.ident, message));
    }
    let body = match whole.first() {
        Some(Whole::Refuse) => quote!(visitor.refuse();),
        _ => body(input)?,
    };
    let visitor = quote!(::unpause_protocols::state_visitor);
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(syn::parse_quote!(#visitor::Show));
    }
    let (of, arguments, whether) = generics.split_for_impl();
    let of_type = quote!(#arguments #whether);
    let name = &input.ident;
    let allow = quote!(#[allow(
        unused_imports,
        unused_qualifications,
        unused_variables,
        reason = "no state uses all traits and words"
    )]);
    let uses = quote!(use #visitor::{Moment as _, Same as _, Show as _, Total as _};);
    Ok(match whole.first() {
        Some(Whole::Function {
            visibility,
            name: function,
            arguments,
        }) => {
            let comma = (!arguments.is_empty()).then(|| quote!(,));
            quote! {
                impl #of #name #of_type {
                    #[doc = "Shows its state."]
                    #allow
                    #visibility fn #function<__L: #visitor::StateVisitor>(
                        &mut self, #arguments #comma visitor: &mut __L,
                    ) {
                        #uses
                        #body
                    }
                }
            }
        }
        _ => quote! {
            #[automatically_derived]
            impl #of #visitor::Show for #name #of_type {
                #allow
                fn show<__L: #visitor::StateVisitor>(&mut self, visitor: &mut __L) {
                    #uses
                    #body
                }
            }
        },
    })
}

#[cfg(test)]
mod tests;
