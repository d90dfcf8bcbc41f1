//! 2,000 random graphs: tile VM and eager against the reference; every operation that a family names is drawn.

use tensorplay_fuzz::generate::{Mode, case, named};
use tensorplay_graph::Op;

#[test]
fn two_thousand_graphs() {
    tensorplay_fuzz::check::quiet_panics();
    let failed = tensorplay_fuzz::run::graphs(0, 2000, 20);
    assert_eq!(failed, 0, "the failures are printed above");
}

#[test]
fn every_operation_that_a_family_names_is_drawn() {
    let named = named();
    let other: Vec<&str> = Op::ALL
        .iter()
        .filter(|op| !named.contains(op))
        .map(|op| op.name())
        .collect();
    println!("not drawn: {}", other.join(", "));
    for mode in [Mode::Graph, Mode::Program] {
        let mut missing = named.clone();
        for seed in 0..20_000 {
            if missing.is_empty() {
                break;
            }
            let c = case(seed, mode).case;
            missing.retain(|op| c.nodes.iter().all(|n| n.op != *op));
        }
        assert_eq!(missing, [], "{mode:?}");
    }
}
