//! A `Result` whose error type is not made of ours: the error is at that type.

use tensorplay::{compile, prelude::*};

#[compile]
fn with_breaks(x: &Tensor) -> Result<Tensor, String> {
    if x.rank() == 0 {
        return Err("no dim".to_string());
    }
    Ok(x + 1.0)
}

#[compile(fullgraph)]
fn whole(x: &Tensor) -> Result<Tensor, std::fmt::Error> {
    Ok(x + 1.0)
}

mod own {
    pub type Result<T> = std::result::Result<T, String>;
}

#[compile(fullgraph)]
fn pair(x: &Tensor) -> own::Result<(Tensor, Tensor)> {
    Ok((x + 1.0, x.relu()))
}

fn main() {}
