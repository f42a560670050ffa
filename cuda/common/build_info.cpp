// m40_build_info: the header is written by build_kernels.ts, for each library its own.
#include "../include/m40.h"
#include "build_info_json.h"

extern "C" const char* m40_build_info(void) { return M40_BUILD_INFO_JSON; }
