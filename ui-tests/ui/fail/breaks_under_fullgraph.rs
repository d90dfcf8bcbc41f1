use tensorplay::{compile, prelude::*, Error, Result};

#[compile(fullgraph)]
fn whole(x: &Tensor, w: &Tensor, text: &str) -> Result<Tensor> {
    let h = x.matmul(w).relu();
    println!("{h}");
    let scale = h.mean_all().item::<f32>();
    if scale > 1.0 {
        return Ok(h);
    }
    let k: f32 = text.parse().map_err(|_| Error::msg("no number"))?;
    let Some(_) = text.chars().next() else {
        return Err(Error::msg("no text"));
    };
    let twice = |t: &Tensor| t * 2.0;
    #[cfg(test)]
    let h = h.exp();
    Ok(twice(&(h * k)))
}

fn main() {}
