//! Patches of random documents: what `diff` gives, `apply` undoes, whatever the documents are.

use onward_core::patch;
use proptest::prelude::*;
use serde_json::{Map, Value};

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-5_i64..5).prop_map(Value::from),
        "[a-c/~ ]{0,4}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec(("[a-c/~]{0,2}", inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec(("[a-c/~]{0,2}", any_value()), 0..5).prop_map(|pairs| pairs.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_patch_of_a_diff_gives_the_new_document(old in any_value(), new in any_value()) {
        let ops = patch::diff(&old, &new);
        prop_assert!(patch::fits(&old, &ops).is_ok(), "{ops:?}");
        let mut document = old.clone();
        patch::apply(&mut document, &ops).expect("a diff fits its own document");
        prop_assert_eq!(&document, &new);
        let text = serde_json::to_string(&ops).expect("plain data");
        let back: Vec<patch::Op> = serde_json::from_str(&text).expect("our own text");
        prop_assert_eq!(back, ops);
    }

    #[test]
    fn nothing_changed_is_nothing_to_do(value in any_value()) {
        prop_assert_eq!(patch::diff(&value, &value.clone()), Vec::<patch::Op>::new());
    }

    #[test]
    fn merging_as_a_patch_is_merging(target in any_object(), merged in any_object()) {
        let target = Value::Object(target);
        let mut document = target.clone();
        patch::apply(&mut document, &patch::merge_ops(&target, &merged)).expect("made for this document");
        prop_assert_eq!(document, patch::merge(&target, &Value::Object(merged)));
    }

    #[test]
    fn a_foreign_patch_is_refused_or_fits_but_never_panics(document in any_value(), old in any_value(), new in any_value()) {
        let ops = patch::diff(&old, &new);
        let fits = patch::fits(&document, &ops).is_ok();
        let mut copy = document;
        prop_assert_eq!(patch::apply(&mut copy, &ops).is_ok(), fits, "{:?}", ops);
    }
}
