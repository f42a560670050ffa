/** What tests may leave out of an operation, which is what the self-test may. */
export { completed, type GivenOperation } from "../engine/self_test/given_operation.ts";
