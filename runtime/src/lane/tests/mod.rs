//! 1. `ulp`: error against f64 over a dense sample of all f32 bit patterns, the bounds of `docs/numerics.md`.
//! 2. `special`: NaN, infinities, signed zeros, subnormals, saturation.
//! 3. `half`: conversions against the `half` crate, exhaustively.
//! 4. `exact`: integers, truth values, comparisons, casts, roundings, against std.

mod exact;
mod half;
mod special;
mod ulp;
