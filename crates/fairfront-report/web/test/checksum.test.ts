import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { checksum, sha256 } from "../src/checksum.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("SHA-256 gives the published digests", () => {
  assert.equal(sha256(bytes("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert.equal(sha256(bytes("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  assert.equal(sha256(bytes(long)), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
});

test("SHA-256 agrees with Node for every length around a block", () => {
  for (const length of [1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 121, 128, 1000, 70_000]) {
    const content = Uint8Array.from({ length }, (_, i) => (i * 31 + length) % 256);
    assert.equal(sha256(content), createHash("sha256").update(content).digest("hex"));
  }
});

test("a checksum agrees with seal.rs", () => {
  const body = '{\n  "a b": "x \\" y \\\\",\n  "c": {\n    "d": -1.5\n  }';
  assert.equal(checksum(body).slice(0, 16), "9463c019d9892806");
  assert.equal(checksum(body.replaceAll("\n", "\r\n\t")), checksum(body));
  assert.notEqual(checksum(body.replace("a b", "ab")), checksum(body));
});
