import type { Command } from "./command.ts";
import { bench } from "./bench.ts";
import { cp } from "./cp.ts";
import { evaluate } from "./eval.ts";
import { helpFor } from "./help.ts";
import { list } from "./list.ts";
import { ps } from "./ps.ts";
import { pull } from "./pull.ts";
import { rm } from "./rm.ts";
import { run } from "./run.ts";
import { serve } from "./serve.ts";
import { show } from "./show.ts";
import { tokenize } from "./tokenize.ts";

/** Every command but help, in the order of the help. */
const WORKING: readonly Command[] = [
  serve,
  run,
  ps,
  pull,
  list,
  show,
  cp,
  rm,
  tokenize,
  evaluate,
  bench,
];

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [...WORKING, helpFor(WORKING)];
