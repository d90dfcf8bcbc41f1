//! A crate of 100 generated functions: emitted kernels against their bodies.

#[test]
fn a_hundred_programs() {
    assert_eq!(
        tensorplay_fuzz::program::run(0, 100),
        0,
        "the failures are printed above"
    );
}
