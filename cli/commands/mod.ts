import type { Command } from "../arguments/mod.ts";
import { bench } from "./bench.ts";
import { completionFor } from "./completion.ts";
import { cp } from "./cp.ts";
import { doctor } from "./doctor.ts";
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

/** Every command except those that describe the others, in the order of the help. */
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
  doctor,
];

const all: Command[] = [...WORKING];
all.push(completionFor(all), helpFor(all));

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = all;
