//! Part of tensorplay.
