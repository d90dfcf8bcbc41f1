use tensorplay::{compile, explain, prelude::*, Error, Result};

fn find(x: &Tensor) -> Option<Tensor> {
    Some(x.exp())
}

#[compile(warn_breaks)]
fn in_parts(x: &Tensor, w: &Tensor, text: &str) -> Result<Tensor> {
    let h = x.matmul(w).relu();
    println!("{h}");
    let scale = h.mean_all().item::<f32>();
    if scale > 1.0 {
        return Ok(h);
    }
    let k: f32 = text.parse().map_err(|_| Error::msg("no number"))?;
    let Some(bias) = find(&h) else {
        return Err(Error::msg("no bias"));
    };
    let twice = |t: &Tensor| t * 2.0;
    #[cfg(test)]
    let h = h.exp();
    Ok(twice(&(h * k + bias)))
}

fn main() {
    // an error, for warnings alone let a program build
    let _ = explain!(find);
}
