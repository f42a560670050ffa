// Included by every source that nvcc compiles, before anything else: M40_SOURCE_NAME is made of the source's own. nvcc names
// what is a file's own after the first symbol that it defines for others, and after a process's number where there is none.
#ifndef M40_RUNTIME_SOURCE_NAME_H
#define M40_RUNTIME_SOURCE_NAME_H

extern const char M40_SOURCE_NAME;
const char M40_SOURCE_NAME = 0;

#endif
