/** The names of Jinja's filters, as `is filter` knows them. */
export const FILTER_NAMES: ReadonlySet<string> = new Set(
  ("abs attr batch capitalize center count d default dictsort e escape filesizeformat first float " +
    "forceescape format groupby indent int join last length list lower items map min max pprint " +
    "random reject rejectattr replace reverse round safe select selectattr slice sort string " +
    "striptags sum title trim truncate unique upper urlencode urlize wordcount wordwrap xmlattr " +
    "tojson").split(" "),
);

/** The names of Jinja's tests, as `is test` knows them. */
export const TEST_NAMES: ReadonlySet<string> = new Set(
  ("odd even divisibleby defined undefined filter test none boolean false true integer float lower " +
    "upper string mapping number sequence iterable callable sameas escaped in == eq equalto != ne > " +
    "gt greaterthan ge >= < lt lessthan <= le").split(" "),
);

/** Filters of Jinja's that are not here: what they give is left to chance, or makes links of HTML. */
export const UNSUPPORTED_FILTERS: ReadonlySet<string> = new Set(["random", "urlize"]);
