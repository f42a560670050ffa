// The manifests of deploy/ against Kubernetes' published schemas, and against the chart that they are rendered from.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { failureOf, pythonWith } from "../fixtures/official_clients.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

const FOLDER = fromFileUrl(new URL("../../deploy/kubernetes", import.meta.url));
const PLAIN = join(FOLDER, "m40.yaml");
const GATEWAY = join(FOLDER, "m40-gateway.yaml");

/** What Kubernetes itself knows nothing of: their schemas come with the extensions. */
const EXTENSIONS = /^apiVersion: ((gateway|inference)\.networking\.|networking\.istio\.io)/m;

const python = await pythonWith("kubernetes-validate==1.37.0", "setuptools<81");

/** The resources of the manifests that Kubernetes knows. */
async function known(folder: string): Promise<string[]> {
  const files: string[] = [];
  for (const path of [PLAIN, GATEWAY]) {
    for (const resource of (await Deno.readTextFile(path)).split(/^---$/m)) {
      if (!/^kind:/m.test(resource) || EXTENSIONS.test(resource)) continue;
      const file = join(folder, `${files.length}.yaml`);
      await Deno.writeTextFile(file, resource);
      files.push(file);
    }
  }
  return files;
}

Deno.test({
  name: "the manifests are as Kubernetes' schemas want them, and a wrong field is noticed",
  ignore: python === undefined,
  fn: async () => {
    using temporary = new TemporaryFolder();
    const folder = temporary.path;
    const files = await known(folder);
    assertEquals(files.length, 11);
    const validate = (...files: string[]) =>
      failureOf(python!, "-m", "kubernetes_validate", "--strict", "-k", "1.31.0", ...files);
    assertEquals(await validate(...files), undefined);
    const texts = await Promise.all(files.map((file) => Deno.readTextFile(file)));
    const deployment = texts.findIndex((text) => text.includes("\nkind: Deployment"));
    const wrong = texts[deployment].replace("terminationGracePeriodSeconds", "terminationGrace");
    await Deno.writeTextFile(files[deployment], wrong);
    assertMatch(await validate(files[deployment]) ?? "", /terminationGrace/);
  },
});

const withoutHelm = await failureOf("helm", "version") !== undefined;
if (withoutHelm) console.log("skipped: there is no helm");

Deno.test({
  name: "the chart is sound, and the manifests are what it renders",
  ignore: withoutHelm,
  fn: async () => {
    const helm = async (...args: string[]) => {
      const command = new Deno.Command("helm", { args, cwd: FOLDER });
      const { success, stdout, stderr } = await command.output();
      assert(success, new TextDecoder().decode(stderr));
      return new TextDecoder().decode(stdout);
    };
    await helm("lint", "chart");
    const template = ["template", "m40", "chart", "--kube-version", "1.31.0"];
    const rendered = async (path: string) =>
      (await Deno.readTextFile(path)).replace(/^(# .*\n)+(?=---)/, "");
    assertEquals(await helm(...template), await rendered(PLAIN));
    const gateway = ["--set", "gateway.enabled=true", "--show-only", "templates/gateway.yaml"];
    assertEquals(await helm(...template, ...gateway), await rendered(GATEWAY));

    // What is not as in the manifests.
    const deployment = [...template, "--show-only", "templates/deployment.yaml"];
    const withDevice = /- --device\n +- cuda\n/;
    const named = '{--device,"cuda:0,1"}'.replace(",1", "\\,1");
    assertEquals(
      (await helm(...deployment, "--set", `args=${named}`)).match(/--device/g)?.length,
      1,
    );
    const equals = await helm(...deployment, "--set", "args={--device=cpu}");
    assertEquals(equals.match(/--device/g)?.length, 1);
    const cpu = await helm(...deployment, "--set", "resources.limits.nvidia\\.com/gpu=null");
    assert(!cpu.includes("--device"), cpu);
    assertMatch(await helm(...deployment, "--set", "args={--ctx,4096}"), withDevice);
    assert(!(await helm(...deployment, "--set", "noticeSeconds=0")).includes("lifecycle"));
    const other = await helm(...template, ...gateway, "--set", "gateway.className=kgateway");
    assert(!other.includes("DestinationRule"), other);
    const own = [...gateway, "--set", "gateway.className=mine,gateway.picker.destinationRule=true"];
    assertMatch(await helm(...template, ...own), /kind: DestinationRule/);
  },
});

Deno.test("each container of the manifests that asks for a GPU is configured to take it, and Istio to take the picker's certificate", async () => {
  const plain = await Deno.readTextFile(PLAIN);
  const gpus = plain.match(/nvidia\.com\/gpu: [1-9]/g) ?? [];
  assertEquals((plain.match(/- --device\n +- cuda\n/g) ?? []).length, gpus.length);
  assertEquals(gpus.length, 1);
  const gateway = await Deno.readTextFile(GATEWAY);
  const [, picker] = /endpointPickerRef:\n +name: (\S+)/.exec(gateway)!;
  const rule = gateway.split(/^---$/m).find((one) => one.includes("kind: DestinationRule"));
  assertMatch(rule ?? "", new RegExp(`host: ${picker}\\.default\\.svc\\.`));
  assertMatch(rule ?? "", /tls:\n +mode: SIMPLE\n +insecureSkipVerify: true/);
});
