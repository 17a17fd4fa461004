//! Random calls on a store in memory and on one on disk; every answer must be the same.
//! The store in memory is simple enough to be believed, so a difference is a fault of the other one.

use onward_store::testing::conformance::sequence::{Call, compare};
use proptest::prelude::*;

use crate::kit::{InMemory, OnDisk};

fn call() -> impl Strategy<Value = Call> {
    let n = any::<u8>;
    prop_oneof![
        3 => (n(), n()).prop_map(|(handle, run)| Call::Create { handle, run }),
        5 => (n(), n(), n()).prop_map(|(handle, run, driving)| Call::Take { handle, run, driving }),
        2 => n().prop_map(|run| Call::Give { run }),
        1 => n().prop_map(|run| Call::LoseLock { run }),
        12 => (n(), n(), n(), n(), n(), n(), n(), n()).prop_map(
            |(handle, run, wrong_by, events, size, checkpoints, consumed, status)| Call::Append {
                handle, run, wrong_by, events, size, checkpoints, consumed, status,
            }
        ),
        4 => (n(), n(), n(), n()).prop_map(|(handle, run, item, size)| Call::Post { handle, run, item, size }),
        3 => (n(), n(), n()).prop_map(|(handle, checkpoint, size)| Call::Keyframe { handle, checkpoint, size }),
        2 => (n(), n(), n(), n()).prop_map(|(handle, run, back, size)| Call::PutFold { handle, run, back, size }),
        1 => (n(), n()).prop_map(|(handle, run)| Call::DropFold { handle, run }),
        4 => (n(), n(), n(), n()).prop_map(|(handle, run, checkpoint, whole)| {
            Call::Prune { handle, run, checkpoint, whole }
        }),
        4 => (n(), n(), n(), n()).prop_map(|(handle, run, after, max)| Call::Read { handle, run, after, max }),
        2 => (n(), n(), n(), n()).prop_map(|(handle, prefix, status, max)| {
            Call::List { handle, prefix, status, max }
        }),
        2 => n().prop_map(|handle| Call::Changed { handle }),
        1 => n().prop_map(|handle| Call::Reopen { handle }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_backends_give_the_same_answers(calls in prop::collection::vec(call(), 1..60)) {
        compare(&calls, &InMemory::default(), &OnDisk::in_memory());
    }
}
