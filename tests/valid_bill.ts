import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
// The validator looks for these by itself.
import "ajv";
import "ajv-formats";
import "ajv-formats-draft2019";

/** What the published schema of CycloneDX 1.6 finds wrong with a bill of materials; null where that is nothing. */
export async function faultsOf(bill: string): Promise<unknown> {
  return await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(bill);
}
