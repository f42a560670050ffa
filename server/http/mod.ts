export { acceptConnections } from "./accept.ts";
export { type Pieces, piecesOf, streamOf } from "./exchange.ts";
export { writeRepeatedly } from "./half_close.ts";
export { HttpServer } from "./http_server.ts";
export { defaultLimits, type HttpLimits } from "./limits.ts";
export { listen } from "./listen.ts";
export type { Piece } from "./response_bytes.ts";
