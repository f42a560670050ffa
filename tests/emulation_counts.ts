/** Kernels that stay on the emulated device now, and grids launched so far. */
export function emulationCounts(): { resident: number; launches: number } {
  const library = Deno.dlopen(Deno.env.get("M40_KERNELS")!, {
    m40_emulation_resident_kernels: { parameters: [], result: "u64" },
    m40_emulation_launches: { parameters: [], result: "u64" },
  });
  const resident = Number(library.symbols.m40_emulation_resident_kernels());
  const launches = Number(library.symbols.m40_emulation_launches());
  library.close();
  return { resident, launches };
}
