//! A fast 64-bit checksum (XXH64), which finds corrupted bytes.

const P1: u64 = 0x9E37_79B1_85EB_CA87;
const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P3: u64 = 0x1656_67B1_9E37_79F9;
const P4: u64 = 0x85EB_CA77_C2B2_AE63;
const P5: u64 = 0x27D4_EB2F_1656_67C5;

fn round(state: u64, input: u64) -> u64 {
    let state = state.wrapping_add(input.wrapping_mul(P2));
    state.rotate_left(31).wrapping_mul(P1)
}

fn merged(hash: u64, state: u64) -> u64 {
    let hash = hash ^ round(0, state);
    hash.wrapping_mul(P1).wrapping_add(P4)
}

/// The checksum of bytes.
pub(crate) fn checksum(bytes: &[u8], seed: u64) -> u64 {
    let (stripes, rest) = bytes.as_chunks::<32>();
    let mut hash = match stripes.is_empty() {
        true => seed.wrapping_add(P5),
        false => {
            let mut states = [
                seed.wrapping_add(P1).wrapping_add(P2),
                seed.wrapping_add(P2),
                seed,
                seed.wrapping_sub(P1),
            ];
            for stripe in stripes {
                let (words, _) = stripe.as_chunks::<8>();
                for (state, word) in states.iter_mut().zip(words) {
                    *state = round(*state, u64::from_le_bytes(*word));
                }
            }
            let [a, b, c, d] = states;
            let hash = a
                .rotate_left(1)
                .wrapping_add(b.rotate_left(7))
                .wrapping_add(c.rotate_left(12))
                .wrapping_add(d.rotate_left(18));
            states.into_iter().fold(hash, merged)
        }
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash ^= round(0, u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(P1);
        hash = hash.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
    }
    for byte in rest {
        hash ^= u64::from(*byte).wrapping_mul(P5);
        hash = hash.rotate_left(11).wrapping_mul(P1);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(P2);
    hash ^= hash >> 29;
    hash = hash.wrapping_mul(P3);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_checksums() {
        assert_eq!(checksum(b"", 0), 0xEF46_DB37_51D8_E999);
        assert_eq!(checksum(b"a", 0), 0xD24E_C4F1_A98C_6E5B);
        assert_eq!(checksum(b"abc", 0), 0x44BC_2CF5_AD77_0999);
        let long = b"Call me Ishmael. Some years ago--never mind how long precisely-";
        assert_eq!(checksum(long, 0), 0x02A2_E854_70D6_FD96);
    }
}
