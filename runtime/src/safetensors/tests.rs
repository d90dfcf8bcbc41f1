use super::*;
use crate::element::with_element;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tensorplay-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sample() -> HashMap<String, Tensor> {
    let mut map = HashMap::new();
    for d in DType::ALL {
        for n in [0usize, 1, 7, 33] {
            let x = with_element!(d, T => {
                Tensor::from_vec((0..n).map(|i| <T as crate::Element>::from_i64((i % 2) as i64)).collect(), (n, 1))
            });
            map.insert(format!("{d}.{n}"), x);
        }
    }
    map
}

fn raw(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

#[test]
fn round_trips_every_dtype_and_layout() {
    let folder = Folder::new("round");
    let mut map = sample();
    let x = Tensor::from_vec((0..6).collect::<Vec<i32>>(), (2, 3));
    map.insert("t".into(), x.view_t().unwrap());
    map.insert("w".into(), Tensor::from_slice(&[1.5f32], ()).requires_grad_(true));
    save(folder.file("a"), &map).unwrap();
    let back = load(folder.file("a")).unwrap();
    assert_eq!(back.len(), map.len());
    for (k, v) in &map {
        assert_eq!((back[k].shape(), back[k].dtype()), (v.shape(), v.dtype()));
        assert!(back[k].allclose(v, 0.0, 0.0), "{k}");
    }
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
fn saving_over_a_mapped_file_keeps_the_old_tensors() {
    let folder = Folder::new("over");
    let path = folder.file("a");
    save(
        &path,
        &HashMap::from([("x".to_string(), Tensor::from_vec(vec![1.0f32; 1025], 1025))]),
    )
    .unwrap();
    let old = load(&path).unwrap();
    save(
        &path,
        &HashMap::from([("x".to_string(), Tensor::from_vec(vec![2.0f32; 7], 7))]),
    )
    .unwrap();
    assert_eq!(old["x"].to_vec::<f32>(), [1.0; 1025]);
    assert_eq!(load(&path).unwrap()["x"].to_vec::<f32>(), [2.0; 7]);
}

#[test]
fn a_mapped_weight_becomes_a_variable() {
    let folder = Folder::new("variable");
    save(
        folder.file("a"),
        &HashMap::from([("w".to_string(), Tensor::from_vec(vec![1.0f32; 33], 33))]),
    )
    .unwrap();
    let w = load(folder.file("a"))
        .unwrap()
        .remove("w")
        .unwrap()
        .requires_grad_(true);
    // SAFETY: the closure writes all of `new`.
    let in_place = unsafe {
        w.update(|u| {
            u.old.copy_to(u.new, u.bytes);
            Ok(std::ptr::eq(u.old, u.new))
        })
    };
    assert!(!in_place.unwrap(), "a mapping is read-only");
    assert_eq!(w.to_vec::<f32>(), [1.0; 33]);
}

#[test]
fn truncated_at_every_byte() {
    let folder = Folder::new("truncated");
    let path = folder.file("a");
    let small = HashMap::from([
        ("a".to_string(), Tensor::from_vec(vec![1.0f64; 3], 3)),
        ("b".to_string(), Tensor::from_vec(vec![true; 5], 5)),
    ]);
    save(&path, &small).unwrap();
    let bytes = fs::read(&path).unwrap();
    for n in 0..bytes.len() {
        fs::write(folder.file("b"), &bytes[..n]).unwrap();
        let e = load(folder.file("b")).unwrap_err();
        assert!(matches!(e, Error::Safetensors { .. }), "{n}: {e}");
    }
    for n in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[n] ^= 0x15;
        fs::write(folder.file("c"), &changed).unwrap();
        if let Ok(map) = load(folder.file("c")) {
            assert!(map.values().all(|t| t.to_string().starts_with("tensor(")));
        }
    }
}

#[test]
fn misaligned_data_is_copied() {
    let folder = Folder::new("misaligned");
    let header = r#"{"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"f":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}"#;
    let mut data = vec![9u8];
    data.extend([1.5f32, -2.5].iter().flat_map(|v| v.to_le_bytes()));
    for pad in 0..8 {
        fs::write(
            folder.file("a"),
            raw(&format!("{header}{}", " ".repeat(pad)), &data),
        )
        .unwrap();
        let map = load(folder.file("a")).unwrap();
        assert_eq!(map["f"].to_vec::<f32>(), [1.5, -2.5]);
        assert_eq!(map["f"].value().data_ptr().addr() % 4, 0);
        assert_eq!(map["b"].item::<u8>(), 9);
    }
}

#[test]
fn malformed_files_are_named() {
    let folder = Folder::new("malformed");
    let path = folder.file("a");
    let one = |dtype: &str, shape: &str, ends: &str| {
        format!(r#"{{"x":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{ends}}}}}"#)
    };
    for (header, data, want) in [
        (one("I8", "[2]", "[0,2]"), 2, "I8"),
        (one("F8_E4M3", "[2]", "[0,2]"), 2, "F8_E4M3"),
        (one("F32", "[2]", "[0,4]"), 4, ""),
        (one("F32", "[18446744073709551615,2]", "[0,8]"), 8, ""),
        (one("F32", "[4611686018427387904,0]", "[0,0]"), 0, ""),
        (one("F32", "[1]", "[4,0]"), 4, ""),
        (one("F32", "[1]", "[0,4]"), 9, ""),
        ("{".into(), 0, ""),
        ("[]".into(), 0, ""),
    ] {
        fs::write(&path, raw(&header, &vec![0; data])).unwrap();
        match load(&path) {
            Err(e) => {
                let text = e.to_string();
                assert!(
                    text.contains(want) && text.contains(&*path.to_string_lossy()),
                    "{header}: {text}"
                );
            }
            Ok(map) => assert!(header.contains(",0]"), "{header}: {map:?}"),
        }
    }
    fs::write(&path, (u64::MAX).to_le_bytes()).unwrap();
    assert!(load(&path).is_err());
    let missing = load(folder.file("none")).unwrap_err();
    assert!(
        matches!(&missing, Error::Io(e) if e.kind() == io::ErrorKind::NotFound),
        "{missing}"
    );
    let directory = load(&folder.0).unwrap_err().to_string();
    assert!(
        directory.ends_with("this is a directory; pass the path of a file in it"),
        "{directory}"
    );
    assert!(save(folder.file("no/such"), &HashMap::new()).is_err());
}

#[test]
fn a_name_that_is_written_twice_is_an_error() {
    let folder = Folder::new("twice");
    let path = folder.file("a");
    let entry = |from: usize, to: usize| {
        format!(
            r#"{{"dtype":"F32","shape":[{}],"data_offsets":[{from},{to}]}}"#,
            (to - from) / 4
        )
    };
    let (a, b, both) = (entry(0, 4), entry(4, 8), entry(0, 8));
    for (header, named) in [
        (format!(r#"{{"x":{a},"x":{b}}}"#), Some("x")),
        (
            format!(r#"{{"x":{both},"y\"é":{both}, "y\"é" : {both}}}"#),
            Some(r#"y\"é"#),
        ),
        (format!(r#"{{"x":{both},"x":{both}}}"#), Some("x")),
        (format!(r#"{{"dtype":{a},"shape":{b}}}"#), None),
        (
            format!(r#"{{"__metadata__":{{"x":"x","b":"{{"}},"x":{a},"b":{b}}}"#),
            None,
        ),
    ] {
        fs::write(&path, raw(&header, &[0; 8])).unwrap();
        match (load(&path), named) {
            (Ok(map), None) => assert_eq!(map.len(), 2, "{header}"),
            (Err(e), Some(name)) => {
                let text = e.to_string();
                assert!(
                    text.contains(&format!("the header names `{name}` twice")),
                    "{header}: {text}"
                );
            }
            (got, _) => panic!("{header}: {got:?}"),
        }
    }
}

#[test]
fn bool_bytes_are_repaired() {
    let folder = Folder::new("bool");
    let header = r#"{"x":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}}"#;
    fs::write(folder.file("a"), raw(header, &[0, 1, 2, 255])).unwrap();
    assert_eq!(
        load(folder.file("a")).unwrap()["x"].to_vec::<bool>(),
        [false, true, true, true]
    );
}
