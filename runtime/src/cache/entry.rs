//! The bytes of a file: a header, then the artefact.
//!
//! Problem: a file may be cut short, changed, or put in the place of another. Method: the header holds a magic number,
//! the format, the artefact's length, and a SHA-256 of the file's name and the artefact. Invariants: a file that differs
//! in a byte from what was written, or that lies under another name, is damaged; the header has no unused byte.

use super::key::FORMAT;
use sha2::{Digest, Sha256};

const MAGIC: [u8; 8] = *b"\x89TPCODE\n";
pub(super) const HEADER: usize = 8 + 4 + 8 + 32;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damage {
    #[error("{0} bytes are no header")]
    Short(usize),
    #[error("it does not begin as a code cache file")]
    Magic,
    #[error("its format is {0}, not {FORMAT}")]
    Format(u32),
    #[error("its length is {found}, not {expected}")]
    Length { expected: u64, found: u64 },
    #[error("its checksum is wrong")]
    Checksum,
}

fn checksum(name: &str, payload: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update((name.len() as u64).to_le_bytes());
    hash.update(name);
    hash.update(payload);
    hash.finalize().into()
}

pub(super) fn header(name: &str, payload: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    header[12..20].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    header[20..].copy_from_slice(&checksum(name, payload));
    header
}

/// The artefact in a file.
pub(super) fn payload<'a>(name: &str, file: &'a [u8]) -> Result<&'a [u8], Damage> {
    let short = Damage::Short(file.len());
    let Some((magic, rest)) = file.split_first_chunk::<8>() else {
        return Err(short);
    };
    let Some((format, rest)) = rest.split_first_chunk::<4>() else {
        return Err(short);
    };
    let Some((length, rest)) = rest.split_first_chunk::<8>() else {
        return Err(short);
    };
    let Some((sum, payload)) = rest.split_first_chunk::<32>() else {
        return Err(short);
    };
    let (format, expected, found) = (
        u32::from_le_bytes(*format),
        u64::from_le_bytes(*length),
        payload.len() as u64,
    );
    if *magic != MAGIC {
        Err(Damage::Magic)
    } else if format != FORMAT {
        Err(Damage::Format(format))
    } else if expected != found {
        Err(Damage::Length { expected, found })
    } else if *sum != checksum(name, payload) {
        Err(Damage::Checksum)
    } else {
        Ok(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: &[u8]) -> Vec<u8> {
        [&header(name, bytes)[..], bytes].concat()
    }

    #[test]
    fn what_was_written_is_read() {
        for bytes in [&b""[..], b"x", &[0; 1000]] {
            assert_eq!(payload("k.so", &file("k.so", bytes)), Ok(bytes));
        }
    }

    #[test]
    fn every_flipped_bit_is_damage() {
        let good = file("k.so", b"payload");
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(payload("k.so", &bad).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn other_lengths_and_names_are_damage() {
        let good = file("k.so", b"payload");
        for n in 0..good.len() {
            assert!(payload("k.so", &good[..n]).is_err(), "{n} bytes");
        }
        assert!(payload("k.so", &[&good[..], b"\0"].concat()).is_err());
        assert_eq!(payload("k.ptx", &good), Err(Damage::Checksum));
        assert_eq!(payload("k.so", &good[..9]), Err(Damage::Short(9)));
    }
}
