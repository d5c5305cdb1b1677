use super::*;

/// The compiler's message for a type.
fn fault(code: TokenStream) -> String {
    let input = syn::parse2(code).expect("a type");
    let faults = expand(&input).expect_err("a fault").into_iter();
    let faults: Vec<String> = faults.map(|it| it.to_string()).collect();
    faults.join("; ")
}

#[test]
fn each_field_needs_a_word() {
    let fault = fault(quote! {
        struct State {
            first: u64,
            #[show(same)]
            second: u64,
            third: u64,
        }
    });
    let one = |name| format!("`{name}` needs `#[show(…)]`, with one of {WORDS}");
    assert_eq!(fault, format!("{}; {}", one("first"), one("third")));
}

#[test]
fn each_field_of_a_variant_needs_a_word() {
    let fault = fault(quote!(
        enum State {
            A,
            B(u64),
        }
    ));
    assert!(fault.starts_with("`field_0` needs"), "{fault}");
}

#[test]
fn what_is_skipped_is_not_shown() {
    let fault = fault(quote!(
        struct State {
            #[show(skip)]
            #[show(same)]
            a: u64,
        }
    ));
    assert_eq!(fault, "`a` is skipped and shown");
}

#[test]
fn misspelt_words_are_named() {
    let of_field = fault(quote!(
        struct State {
            #[show(sane)]
            a: u64,
        }
    ));
    assert_eq!(of_field, format!("`sane` is none of {WORDS}"));
    let of_type = fault(quote!(
        #[show(refuses)]
        struct State {
            #[show(same)]
            a: u64,
        }
    ));
    assert_eq!(
        of_type,
        "here is either `refuse` or a function with its arguments"
    );
}

#[test]
fn expressions_are_asked_for() {
    let by = fault(quote!(
        struct State {
            #[show(by)]
            a: u64,
        }
    ));
    assert_eq!(by, "`by` needs an expression: `#[show(by = …)]`");
    let same = fault(quote!(
        struct State {
            #[show(same =)]
            a: u64,
        }
    ));
    assert!(same.ends_with("an expression is missing"), "{same}");
}

#[test]
fn words_take_nothing_else() {
    for word in [quote!(time = a), quote!(skip = 1), quote!(nested(a))] {
        let fault = fault(quote!(
            struct State {
                #[show(#word)]
                a: u64,
            }
        ));
        assert!(!fault.is_empty());
    }
}

#[test]
fn variants_refuse_or_have_words() {
    let fault = fault(quote!(
        enum State {
            #[show(fn show())]
            A,
        }
    ));
    assert_eq!(fault, "a variant can only refuse");
}
