//! Uses the backend of this crate as any program would, and says what it does.

use custom_backend::CLOSURES;
use tensorplay::compiler::{
    ListBackends, get_backend_capabilities, list_backends, lookup_backend, register_backend,
    unregister_backend, with_backend,
};
use tensorplay::{Error, Result, compile, explain, prelude::*};

#[compile(fullgraph)]
fn layer(x: &Tensor, w: &Tensor, b: &Tensor, scale: f64) -> Result<Tensor> {
    let h = (x.matmul(w) + b).relu();
    Ok(1.0 - (h * scale + 2).tanh())
}

#[compile(fullgraph)]
fn beyond(x: &Tensor) -> Result<Tensor> {
    Ok(x.relu().erf())
}

#[compile(fullgraph, backend = "closures_submitted")]
fn pinned(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    Ok((x - y).exp() / 2.0)
}

fn main() -> Result<()> {
    let x = Tensor::arange(0, 6, DType::F32).reshape((2, 3));
    let w = Tensor::linspace(-1.0, 1.0, 12, DType::F32).reshape((3, 4));
    let b = Tensor::from_slice(&[0.5f32, -0.5, 0.0, 1.0], 4);

    let right = layer(&x, &w, &b, 0.25)?;
    println!("stax: {:?}", right.to_vec::<f32>());

    register_backend(&CLOSURES)?;
    println!(
        "registered; the backends are {}",
        list_backends(ListBackends::default()).join(", ")
    );
    let y = with_backend("closures", || layer(&x, &w, &b, 0.25))??;
    assert!(y.allclose(&right, 1e-6, 1e-6));
    println!("closures: the same values");
    for entry in &explain!(layer).entries {
        println!("  entry: {entry}");
    }

    let everything = ListBackends {
        exclude_tags: &[],
        ..ListBackends::default()
    };
    assert!(list_backends(everything).contains(&"closures_submitted".to_string()));
    let declared = get_backend_capabilities("closures_submitted")?;
    println!(
        "closures_submitted was found when this program was linked; it is for revision {} of the contract",
        declared.contract_version
    );
    let y = pinned(&x, &x)?;
    assert_eq!(y.to_vec::<f32>(), [0.5; 6]);
    println!("a function that names it in its attribute runs on it");

    match with_backend("closures", || beyond(&x))? {
        Err(e @ Error::BackendCompilerFailed { .. }) => println!("what it does not know is an error:\n  {e}"),
        other => panic!("{other:?}"),
    }

    unregister_backend("closures");
    match lookup_backend("closures").map(drop) {
        Err(e @ Error::InvalidBackend { .. }) => println!("unregistered, it is gone:\n  {e}"),
        other => panic!("{other:?}"),
    }
    register_backend(&CLOSURES)?;
    let y = with_backend("closures", || layer(&x, &w, &b, 0.25))??;
    assert!(y.allclose(&right, 1e-6, 1e-6));
    println!("registered again, and right again");
    println!("ok custom-backend");
    Ok(())
}
