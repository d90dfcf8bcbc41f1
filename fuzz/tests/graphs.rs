//! 2,000 random graphs: tile VM and eager against the reference; every operation is among the generated ones.

use tensorplay_fuzz::generate::{Mode, case};
use tensorplay_graph::Op;

#[test]
fn two_thousand_graphs() {
    tensorplay_fuzz::check::quiet_panics();
    let failed = tensorplay_fuzz::run::graphs(0, 2000, 20);
    assert_eq!(failed, 0, "the failures are printed above");
}

#[test]
fn every_operation_is_drawn() {
    use Op::*;
    // hidden rows, random numbers, what updates variables, and what has regions
    let never = [
        RowMax,
        RowMaxDrop,
        WideSum,
        WideSumKeepdim,
        WideSumAll,
        AsFloat,
        AsDtype,
        ChannelsOf,
        RunningMean,
        RunningVar,
        BatchNormTrain,
        Rand,
        Randn,
        Cond,
        WhileLoop,
    ];
    for mode in [Mode::Graph, Mode::Program] {
        let mut missing: Vec<Op> = Op::ALL.iter().copied().filter(|op| !never.contains(op)).collect();
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
