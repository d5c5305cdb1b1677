use super::*;

/// The compiler's message for a struct with this field.
fn fault(field: TokenStream) -> String {
    let code = quote!(#[keys("pfc")] struct Pfc { #field });
    let input = syn::parse2(code).expect("a type");
    expand(&input).expect_err("a fault").to_string()
}

#[test]
fn faults_name_the_field() {
    let cases = [
        (
            quote!(xoff: Written<Size>),
            "`xoff` needs a doc comment: the meaning of the key",
        ),
        (
            quote!(
                /// PAUSE above this
                #[key(default = 1)]
                xoff: Written<Size>
            ),
            "`xoff` has a default: write `WithDefault`",
        ),
        (
            quote!(
                /// PAUSE above this
                #[key(unset = "none")]
                xoff: Spanned<Size>
            ),
            "`xoff` is `Spanned`: it must be written",
        ),
        (
            quote!(
                /// PAUSE above this
                #[key(sets = params.xoff)]
                xoff: Written<Size>
            ),
            "`xoff` sets a parameter: write `Param`",
        ),
        (
            quote!(
                /// PAUSE above this
                #[key(defualt = 1)]
                xoff: WithDefault<Size>
            ),
            "`defualt` is none of default, unset, sets, from, idle, via, flatten",
        ),
    ];
    for (field, expected) in cases {
        assert_eq!(fault(field), expected);
    }
}

#[test]
fn a_table_has_a_path_and_named_fields() {
    let message = |code| {
        let input = syn::parse2(code).expect("a type");
        expand(&input).expect_err("a fault").to_string()
    };
    let without_path = message(quote!(
        struct Pfc {}
    ));
    assert!(
        without_path.starts_with("the path of the table is missing"),
        "{without_path}"
    );
    let of_tuple = message(quote!(
        #[keys("pfc")]
        struct Pfc(u32);
    ));
    assert_eq!(of_tuple, "only a struct of named fields has `Keys`");
}
