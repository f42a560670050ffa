import { main } from "./cli/main.ts";

Deno.exit(await main(Deno.args));
