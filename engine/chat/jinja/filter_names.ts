/** The names of Jinja's filters, as `is filter` knows them. */
export const FILTER_NAMES: ReadonlySet<string> = new Set(
  ("abs attr batch capitalize center count d default dictsort e escape filesizeformat first float " +
    "forceescape format groupby indent int join last length list lower items map min max pprint " +
    "random reject rejectattr replace reverse round safe select selectattr slice sort string " +
    "striptags sum title trim truncate unique upper urlencode urlize wordcount wordwrap xmlattr " +
    "tojson").split(" "),
);

/** Filters of Jinja's that are not here: what they give is left to chance, or makes links of HTML. */
export const UNSUPPORTED_FILTERS: ReadonlySet<string> = new Set(["random", "urlize"]);
