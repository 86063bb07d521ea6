// The checksum of a JSON file, as `seal.rs` computes it. Browsers offer SHA-256 only to pages from a server.

/** The checksum of a file with the text `body` before its checksum; spaces and line ends outside strings do not count. */
export function checksum(body: string): string {
  const compact = body.replace(/"(?:[^"\\]|\\.)*"|[ \t\r\n]+/g, (found) => (found.startsWith('"') ? found : ""));
  return sha256(new TextEncoder().encode(compact));
}

/** The first 32 bits of the fractional part of a root. */
function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32);
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
}

/** SHA-256 (FIPS 180-4) as hexadecimal digits. */
export function sha256(bytes: Uint8Array): string {
  const constants = primes(64).map((prime) => fraction(Math.cbrt(prime)));
  const state = Int32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)));
  const padded = new Uint8Array((Math.floor((bytes.length + 8) / 64) + 1) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length << 3);
  const turn = (word: number, by: number) => (word >>> by) | (word << (32 - by));
  const words = new Int32Array(64);
  const at = (i: number) => words[i] as number;
  for (let start = 0; start < padded.length; start += 64) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) words[i] = view.getInt32(start + 4 * i);
      else {
        const [early, late] = [at(i - 15), at(i - 2)];
        const small = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
        words[i] = at(i - 16) + small + at(i - 7) + (turn(late, 17) ^ turn(late, 19) ^ (late >>> 10));
      }
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as [
      number, number, number, number, number, number, number, number,
    ];
    for (let i = 0; i < 64; i++) {
      const choice = (e & f) ^ (~e & g);
      const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + (constants[i] as number) + at(i)) | 0;
      const majority = (a & b) ^ (a & c) ^ (b & c);
      const second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i] as number) + word));
  }
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
