//! The known name that resembles an unknown one, or stands for it.

use tensorplay_graph::distance;

/// Methods that PyTorch has under another name, and what to write.
const RENAMED: &[(&str, &str)] = &[
    ("multiply", "the operator `*`"),
    ("subtract", "the operator `-`"),
    ("divide", "the operator `/`"),
    ("view", "reshape(..)"),
    ("view_as", "reshape(y.shape())"),
    ("reshape_as", "reshape(y.shape())"),
    ("ravel", "flatten_all()"),
    ("expand_as", "expand(y.shape())"),
    ("broadcast_to", "expand(..)"),
    ("tile", "repeat(..)"),
    ("swapaxes", "transpose(..)"),
    ("swapdims", "transpose(..)"),
    ("moveaxis", "movedim(..)"),
    ("size", "dim(..) for one size, shape() for all"),
    ("numel", "elem_count()"),
    ("nelement", "elem_count()"),
    ("ndim", "rank()"),
    ("ndimension", "rank()"),
    ("to", "to_dtype(..)"),
    ("type_as", "to_dtype(y.dtype())"),
    ("float", "to_dtype(DType::F32)"),
    ("double", "to_dtype(DType::F64)"),
    ("half", "to_dtype(DType::F16)"),
    ("bfloat16", "to_dtype(DType::BF16)"),
    ("int", "to_dtype(DType::I32)"),
    ("long", "to_dtype(DType::I64)"),
    ("mm", "matmul(..)"),
    ("bmm", "matmul(..)"),
    ("mv", "matmul(..)"),
    ("dot", "matmul(..)"),
    ("amax", "max(..)"),
    ("amin", "min(..)"),
    ("std", "std_dev(..)"),
    ("clip", "clamp(..)"),
    ("concat", "cat(..)"),
    ("concatenate", "cat(..)"),
    ("argsort", "sort(..), whose second result are the indices"),
    ("take_along_dim", "gather(..)"),
    ("swish", "silu()"),
    ("absolute", "abs()"),
    ("negative", "neg()"),
    ("fix", "trunc()"),
    ("greater", "gt(..)"),
    ("greater_equal", "ge(..)"),
    ("less", "lt(..)"),
    ("less_equal", "le(..)"),
    ("not_equal", "ne(..)"),
];

/// What to write for the name of a method of PyTorch.
pub fn renamed(word: &str) -> Option<&'static str> {
    RENAMED
        .iter()
        .find(|(name, _)| *name == word)
        .map(|(_, ours)| *ours)
}

/// The nearest of `names` within an edit distance of a third of the word.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let limit = length.div_ceil(3);
    names
        .into_iter()
        .map(|n| (distance(word, n), n))
        .filter(|(d, _)| *d <= limit && *d < length)
        .min_by_key(|(d, _)| *d)
        .map(|(_, n)| n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_stand_for_ours() {
        use tensorplay_graph::Op;
        for (name, ours) in RENAMED {
            assert_eq!(Op::from_name(name), None, "{name}");
            let word = ours.split('(').next().unwrap_or_default();
            let read = ["rank", "elem_count", "dim"].contains(&word);
            assert!(
                read || Op::from_name(word).is_some() || ours.starts_with("the operator"),
                "{ours}"
            );
        }
    }

    #[test]
    fn finds_the_nearest_name() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(nearest("fulgraph", ["fullgraph", "grad"]), Some("fullgraph"));
        assert_eq!(nearest("gelo", ["relu", "gelu"]), Some("gelu"));
        assert_eq!(nearest("quantise", ["relu", "gelu"]), None);
    }
}
