// install.sh with a test archive whose m40 is a shell script: what is installed, refused, kept, removed.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { checksums } from "../../tools/release/archive.ts";
import { run } from "../../tools/release/run.ts";
import { DEPLOY, programOf, Release, REPORT } from "../fixtures/install_release.ts";

const hasBusyBox = () => Deno.stat("/bin/busybox").then(() => true, () => false);
const ignore = Deno.build.os !== "linux" || Deno.build.arch !== "x86_64";

Deno.test(
  "install.sh places a program in a home with spaces, updates it, and leaves nothing behind",
  { ignore },
  async () => {
    await using release = await Release.make();
    // An existing folder stays, even an empty one.
    await Deno.mkdir(join(release.home, ".local/share"), { recursive: true });
    const before = await release.there();
    const first = await release.install();
    assertEquals([first.code, first.stderr], [0, ""]);
    assertStringIncludes(first.stdout, "m40 1.0.0 is installed");
    assert(!first.stdout.includes("restart"), first.stdout);
    const program = join(release.home, ".local/bin/m40");
    assertEquals(await run(program, ["--version"]), "m40 1.0.0\n");
    assert((await release.there()).includes("./.local/share/man/man1/m40.1"));
    assertEquals((await Deno.stat(join(release.home, ".local/lib/m40/m40"))).mode! & 0o777, 0o755);

    await release.publish(programOf("1.0.1"), { "man/m40.1": ".TH new 1\n" });
    assertEquals((await release.install()).code, 0);
    assertEquals(await run(program, ["--version"]), "m40 1.0.1\n");

    // Models, as m40 itself has them, are kept, and then not.
    const models = join(release.home, ".local/share/m40/models");
    await Deno.mkdir(models, { recursive: true });
    await Deno.writeTextFile(join(models, "a.gguf"), "");
    const installed = join(release.home, ".local/lib/m40/install.sh");
    const kept = await release.install(["--uninstall", "--user"], installed);
    assertEquals([kept.code, kept.stderr], [0, ""]);
    assertStringIncludes(kept.stdout, ".local/share/m40; --uninstall --purge removes it");
    assertEquals((await release.there()).filter((path) => path.includes("m40")), [
      "./.local/share/m40",
      "./.local/share/m40/models",
      "./.local/share/m40/models/a.gguf",
    ]);
    assertEquals((await release.install(["--uninstall", "--purge", "--user"])).code, 0);
    assertEquals(await release.there(), before);
  },
);

Deno.test("install.sh needs no more of its programs than BusyBox has", {
  ignore: ignore || !await hasBusyBox(),
}, async () => {
  await using release = await Release.make();
  const programs = join(release.root, "programs");
  await Deno.mkdir(programs);
  for (const applet of (await run("busybox", ["--list"])).trim().split("\n")) {
    await Deno.symlink("/bin/busybox", join(programs, applet));
  }
  // It is part of glibc, not of BusyBox.
  await Deno.symlink("/usr/bin/getconf", join(programs, "getconf"));
  const script = join(release.root, "install.sh");
  const install = () => release.install([release.archive, "--user"], script, programs);
  const first = await install();
  assertEquals([first.code, first.stderr], [0, ""]);
  assertStringIncludes(first.stdout, "m40 1.0.0 is installed");

  // What is wrong with an unpacked archive is found there too.
  await run("tar", ["-xzf", release.archive, "-C", release.root]);
  const folder = join(release.root, "m40-1.0.0-linux-x86_64");
  const unpacked = () => release.install(["--user"], join(folder, "install.sh"), programs);
  const sums = await Deno.readTextFile(join(folder, "SHA256SUMS"));
  await Deno.writeTextFile(join(folder, "SHA256SUMS"), `${sums}no sum\n`);
  assertStringIncludes((await unpacked()).stderr, "is damaged");
  await Deno.writeTextFile(join(folder, "SHA256SUMS"), sums);
  await Deno.writeTextFile(join(folder, "libm40_cpu.so"), "another");
  const { code, stderr } = await unpacked();
  assertEquals(code, 1);
  assertStringIncludes(stderr, "libm40_cpu.so: FAILED");
});

Deno.test(
  "install.sh refuses archives and folders that are not what was published, and changes nothing",
  { ignore },
  async () => {
    await using release = await Release.make();
    const sums = join(release.root, "SHA256SUMS");
    const good = await Deno.readTextFile(sums);
    const refused = async (wanted: string, args?: string[], script?: string) => {
      const { code, stdout, stderr } = await release.install(args, script);
      assertEquals([code, stdout], [1, ""], stderr);
      assertStringIncludes(stderr, wanted);
      assertEquals(await release.there(), []);
    };
    await Deno.writeTextFile(sums, good.replace(/^./, (digit) => digit === "0" ? "1" : "0"));
    await refused("is not what was published");
    await Deno.writeTextFile(sums, good.replace("m40-1", "m41-1"));
    await refused("has no sum of m40-1.0.0-linux-x86_64.tar.gz");
    await Deno.writeTextFile(sums, good + good);
    await refused("has no one good sum");
    await Deno.remove(sums);
    await refused("cannot be verified");
    await Deno.writeTextFile(sums, good);
    await refused("there is no file", [join(release.root, "m40-2.tar.gz"), "--user"]);
    const bytes = await Deno.readFile(release.archive);
    await Deno.writeFile(release.archive, bytes.subarray(0, bytes.length - 100));
    await refused("is not what was published");
    await Deno.writeFile(release.archive, bytes);

    // Unpacked by hand, and then damaged, or with sums of paths outside.
    await run("tar", ["-xzf", release.archive, "-C", release.root]);
    const folder = join(release.root, "m40-1.0.0-linux-x86_64");
    const script = join(folder, "install.sh");
    await Deno.writeTextFile(join(folder, "libm40_cpu.so"), "another");
    await refused("is damaged", ["--user"], script);
    await Deno.remove(join(folder, "libm40_cpu.so"));
    await refused("is damaged", ["--user"], script);
    await Deno.writeTextFile(join(folder, "libm40_cpu.so"), "library");
    const line = await checksums(release.root, ["SHA256SUMS"]);
    await Deno.writeTextFile(
      join(folder, "SHA256SUMS"),
      await Deno.readTextFile(join(folder, "SHA256SUMS")) + line.replace("  ", "  ../"),
    );
    await refused("leads out of it", ["--user"], script);

    await Deno.remove(folder, { recursive: true });
    await release.publish("#!/bin/sh\necho 'libgcc_s.so.1: cannot open' >&2; exit 127\n");
    await refused("libgcc_s.so.1: cannot open");
    await release.publish(`#!/bin/sh\necho '${REPORT.replace("null", '"cannot be loaded"')}'\n`);
    await refused("cannot be loaded");
    for (const args of [["--purge"], ["--nothing"], ["a", "b"], ["--prefix"]]) {
      assertEquals((await release.install(args)).code, 2, args.join(" "));
    }
    assertEquals((await release.install(["--uninstall", "--user"])).code, 1);
  },
);

Deno.test("install.sh that is interrupted leaves the earlier files, and what it left is cleared", {
  ignore,
}, async () => {
  await using release = await Release.make();
  assertEquals((await release.install()).code, 0);
  const before = await release.there();
  const withoutOld = async () =>
    (await release.there()).filter((path) => !path.includes("/.m40.old."));
  const mark = join(release.root, "started");
  // The new program, started to see whether it does, lets the script be interrupted just then.
  await release.publish(`#!/bin/sh\n: >"${mark}"\nsleep 600 &\necho $! >"${mark}.pid"\nwait\n`);
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const script = release.start([release.archive, "--user"]).spawn();
    while (await Deno.stat(mark + ".pid").then((file) => file.size === 0, () => true)) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    script.kill(signal);
    // The shell takes its signal when the program that it waits for has ended.
    Deno.kill(Number(await Deno.readTextFile(mark + ".pid")), "SIGKILL");
    assert((await script.output()).code !== 0);
    await Deno.remove(mark + ".pid");
    const program = join(release.home, ".local/bin/m40");
    assertEquals(await run(program, ["--version"]), "m40 1.0.0\n");
    if (signal === "SIGTERM") assertEquals(await release.there(), before);
  }
  await release.publish(programOf("1.0.2"));
  assertEquals((await release.install()).code, 0);
  assertEquals(await withoutOld(), before);
  assertEquals((await release.install(["--uninstall", "--user"])).code, 0);
  assertEquals(await release.there(), []);
});

Deno.test(
  "a server that runs while m40 is updated finds its libraries still, and is to be restarted",
  { ignore },
  async () => {
    // Opens a library next to itself on command, as m40 does when a model is loaded again.
    const server = programOf("1.0.0").replace(
      "#!/bin/sh\n",
      `#!/bin/bash\nif [ "$1" = serve ]; then cd "$(dirname "$0")"; echo up; read -r; cat libm40_cpu.so; exit; fi\n`,
    );
    await using release = await Release.make(server);
    assertEquals((await release.install()).code, 0);
    const running = new Deno.Command(join(release.home, ".local/lib/m40/m40"), {
      args: ["serve"],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const reader = running.stdout.pipeThrough(new TextDecoderStream()).getReader();
    assertEquals((await reader.read()).value, "up\n");
    await release.publish(programOf("1.0.1"), { "libm40_cpu.so": "newer" });
    const second = await release.install();
    assertEquals([second.code, second.stderr], [0, ""]);
    assertStringIncludes(second.stdout, "restart it");
    // An update that is refused takes nothing from it.
    await release.publish(`#!/bin/sh\necho '${REPORT.replace("null", '"cannot be loaded"')}'\n`);
    assertEquals((await release.install()).code, 1);
    const writer = running.stdin.getWriter();
    await writer.write(new TextEncoder().encode("\n"));
    await writer.close();
    assertEquals((await reader.read()).value, "library");
    assertEquals((await running.status).code, 0);
    assertEquals((await release.before()).length, 1);
    await release.publish(programOf("1.0.2"));
    assertEquals((await release.install()).code, 0);
    assertEquals((await release.before()).length, 1);
    assertEquals((await release.install(["--uninstall", "--user"])).code, 0);
    assertEquals(await release.there(), []);
  },
);

Deno.test(
  "a program m40 that is not install.sh's is replaced with --force alone, and never removed",
  { ignore },
  async () => {
    await using release = await Release.make();
    const program = join(release.home, ".local/bin/m40");
    await Deno.mkdir(join(release.home, ".local/bin"), { recursive: true });
    const put: Record<string, () => Promise<void>> = {
      "a file": () => Deno.writeTextFile(program, "#!/bin/sh\n"),
      "a link": () => Deno.symlink("/opt/m40/m40", program),
      "a link to a folder": () => Deno.symlink(release.home, program),
    };
    for (const [title, place] of Object.entries(put)) {
      await place();
      const before = await release.there();
      const refused = await release.install();
      assertEquals([refused.code, refused.stdout], [1, ""], title);
      assertStringIncludes(refused.stderr, "bin/m40 is there, and is not this script's");
      assertStringIncludes(refused.stderr, "--force");
      assertEquals(await release.there(), before, title);
      assertEquals((await release.install([release.archive, "--user", "--force"])).code, 0);
      assertEquals(await run(program, ["--version"]), "m40 1.0.0\n");
      assertEquals((await release.install()).code, 0, "its own link is no other program");
      await Deno.remove(program);
      await place();
      assertEquals((await release.install(["--uninstall", "--user"])).code, 0);
      assert((await Deno.lstat(program)) !== undefined, title);
      await Deno.remove(program);
    }
    await Deno.mkdir(program);
    const folder = await release.install([release.archive, "--user", "--force"]);
    assertStringIncludes(folder.stderr, "is a folder");
  },
);

Deno.test("what was installed without a service under an odd prefix can be taken away again", {
  ignore,
}, async () => {
  await using release = await Release.make();
  const where = ["--system", "--prefix", join(release.home, "a$b")];
  assertEquals((await release.install([release.archive, ...where])).code, 2);
  assertEquals((await release.install([release.archive, ...where, "--no-service"])).code, 0);
  const { code, stderr } = await release.install(["--uninstall", ...where]);
  assertEquals([code, stderr], [0, ""]);
  assertEquals((await release.there()).filter((path) => path.includes("m40")), []);
});

Deno.test(
  "--no-service over an installation with a service leaves it, and what --uninstall goes by",
  { ignore },
  async () => {
    await using release = await Release.make();
    const prefix = join(release.home, "system");
    const args = [release.archive, "--system", "--no-service", "--prefix", prefix];
    assertEquals((await release.install(args)).code, 0);
    // What the service's part adds, which is root's to do and is the system's own.
    const unit = join(prefix, "lib/systemd/system/m40.service");
    await Deno.mkdir(join(prefix, "lib/systemd/system"), { recursive: true });
    await Deno.writeTextFile(unit, "[Unit]\n");
    await Deno.writeTextFile(join(prefix, "lib/m40/SERVICE"), "made\n");
    const placed = join(prefix, "lib/m40/PLACED");
    await Deno.writeTextFile(placed, "lib/systemd/system/m40.service\n", { append: true });
    const { code, stdout } = await release.install(args);
    assertEquals(code, 0);
    assertStringIncludes(stdout, "the service that was there stays");
    assertEquals(await Deno.readTextFile(unit), "[Unit]\n");
    assertEquals(await Deno.readTextFile(join(prefix, "lib/m40/SERVICE")), "made\n");
    assertStringIncludes(await Deno.readTextFile(placed), "lib/systemd/system/m40.service");
  },
);

Deno.test("uninstalling follows no path of a list that was written to", { ignore }, async () => {
  await using release = await Release.make();
  assertEquals((await release.install()).code, 0);
  const precious = join(release.home, ".local/bin/precious");
  await Deno.writeTextFile(precious, "");
  const list = join(release.home, ".local/lib/m40/PLACED");
  const hostile = [
    "bin/precious",
    "share/man/man1/m40/../../../../bin/precious.1",
    "/etc/passwd",
  ];
  await Deno.writeTextFile(list, hostile.join("\n") + "\n", { append: true });
  assertEquals((await release.install(["--uninstall", "--user"])).code, 0);
  assertEquals(await release.there(), ["./.local", "./.local/bin", "./.local/bin/precious"]);
});

Deno.test("the shell scripts of a release are clean (ignored where shellcheck is not)", {
  ignore: !await hasShellcheck(),
}, async () => {
  const tools = fromFileUrl(new URL("../../tools/release", import.meta.url));
  const scripts = [DEPLOY, tools].flatMap((folder) =>
    [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".sh"))
      .map(({ name }) => join(folder, name))
  );
  assertEquals(scripts.length, 5);
  assertEquals(await run("shellcheck", ["--shell=sh", ...scripts]), "");
});

async function hasShellcheck(): Promise<boolean> {
  return await run("shellcheck", ["--version"]).then(() => true, () => false);
}
