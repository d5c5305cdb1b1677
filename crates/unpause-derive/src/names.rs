//! `#[derive(Names)]`.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result, Variant};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "only an enum has `Names`"));
    };
    let pairs = data.variants.iter().map(|variant| {
        let (ident, name) = (&variant.ident, name(variant)?);
        Ok(quote!((#name, Self::#ident)))
    });
    let pairs = pairs.collect::<Result<Vec<_>>>()?;
    let ident = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl ::unpause_protocols::names::Names for #ident {
            const NAMES: &'static [(&'static str, Self)] = &[#(#pairs),*];
        }
    })
}

/// The name of a variant: as `#[name = "…"]` says, or its own in kebab case.
fn name(variant: &Variant) -> Result<String> {
    if !matches!(variant.fields, Fields::Unit) {
        let fault = format!(
            "`{}` has fields: only values without any have names",
            variant.ident
        );
        return Err(Error::new_spanned(variant, fault));
    }
    match variant
        .attrs
        .iter()
        .find(|attribute| attribute.path().is_ident("name"))
    {
        Some(attribute) => {
            let value = &attribute.meta.require_name_value()?.value;
            let name: LitStr = syn::parse2(quote!(#value))?;
            Ok(name.value())
        }
        None => Ok(kebab(&variant.ident)),
    }
}

fn kebab(ident: &Ident) -> String {
    let mut name = String::new();
    for (at, letter) in ident.to_string().char_indices() {
        if letter.is_uppercase() && at > 0 {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    name
}
