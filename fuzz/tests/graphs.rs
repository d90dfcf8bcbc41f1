//! 2,000 random graphs: tile VM and eager against the reference.

#[test]
fn two_thousand_graphs() {
    tensorplay_fuzz::check::quiet_panics();
    let failed = tensorplay_fuzz::run::graphs(0, 2000, 20);
    assert_eq!(failed, 0, "the failures are printed above");
}
