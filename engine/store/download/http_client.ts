/** Where distributions keep the certificates that the system trusts, as one file. */
const BUNDLES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/**
 * A client for `fetch` that trusts the system's certificates in addition to those of the runtime, so that it works
 * where a company's proxy has its own: those of `SSL_CERT_FILE`, else of the distribution's bundle. Proxies are the
 * runtime's doing (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`).
 *
 * It speaks HTTP/1.1 alone: HTTP/2 would put several requests into one connection, which is what
 * several connections are to get around.
 */
export function createClient(): Deno.HttpClient {
  const certificates = systemCertificates();
  try {
    return Deno.createHttpClient({
      http2: false,
      ...(certificates === undefined ? {} : { caCerts: [certificates] }),
    });
  } catch (error) {
    // A bundle with something in it that is no certificate; the runtime's own are left.
    if (certificates === undefined) throw error;
    return Deno.createHttpClient({ http2: false });
  }
}

function systemCertificates(): string | undefined {
  const named = Deno.env.get("SSL_CERT_FILE");
  for (const path of named ? [named] : BUNDLES) {
    try {
      return Deno.readTextFileSync(path);
    } catch {
      // Not this distribution's.
    }
  }
  return undefined;
}
