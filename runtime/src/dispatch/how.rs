//! How groups are bound: what the options of a function and the environment ask for.

use crate::backend::CompileOptions;
use crate::ladder::{self, Rung};
use crate::plan::bind::{How, Kernels};
use crate::{Error, Result};
use std::sync::OnceLock;

/// The kernels that `TENSORPLAY_KERNELS` forces.
fn kernels() -> Result<Kernels> {
    const VARIABLE: &str = "TENSORPLAY_KERNELS";
    static KERNELS: OnceLock<std::result::Result<Kernels, String>> = OnceLock::new();
    let kernels = KERNELS.get_or_init(|| {
        let value = std::env::var_os(VARIABLE).unwrap_or_default();
        match value.to_str().map(str::trim) {
            Some("emitted") => Ok(Kernels::Emitted),
            Some("tile") => Ok(Kernels::Tile),
            Some("") => Ok(Kernels::Any),
            _ => Err(value.to_string_lossy().into_owned()),
        }
    });
    kernels.clone().map_err(|value| Error::Environment {
        variable: VARIABLE,
        value,
        expected: "emitted or tile",
    })
}

/// How the groups of a function are bound.
pub(crate) fn how(options: &CompileOptions, function: &str) -> Result<How> {
    let on = options.resolved()?;
    let is = |name: &str| on.get(name).copied().unwrap_or(false);
    for name in ["cudagraphs", "max_autotune", "coordinate_descent_tuning"] {
        if is(name) {
            ladder::tell(Rung::Kernels, false, || {
                format!("`{function}`: skipping {name} due to cpu device")
            });
        }
    }
    let emulate = is("emulate_precision_casts");
    let kernels = match kernels()? {
        Kernels::Any if !is("native") => Kernels::Tile,
        forced => forced,
    };
    Ok(How {
        kernels,
        fused: if is("fusion") && !emulate { u32::MAX } else { 0 },
        rounds_each: emulate,
    })
}
