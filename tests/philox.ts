/** Philox4x32-10 (Salmon et al. 2011), all four words. */
export function philox(counter: number[], key: number[]): number[] {
  let [c0, c1, c2, c3] = counter.map(BigInt);
  let [k0, k1] = key.map(BigInt);
  const low = 0xFFFFFFFFn;
  for (let round = 0; round < 10; round++) {
    const a = 0xD2511F53n * c0;
    const b = 0xCD9E8D57n * c2;
    [c0, c1, c2, c3] = [(b >> 32n) ^ c1 ^ k0, b & low, (a >> 32n) ^ c3 ^ k1, a & low];
    k0 = (k0 + 0x9E3779B9n) & low;
    k1 = (k1 + 0xBB67AE85n) & low;
  }
  return [c0, c1, c2, c3].map(Number);
}
