// Every source that nvcc compiles includes this file first. nvcc names a file's internal symbols after its first
// exported symbol, or after a process id where it has none. M40_SOURCE_NAME exports a symbol named after the source.
#ifndef M40_RUNTIME_SOURCE_NAME_H
#define M40_RUNTIME_SOURCE_NAME_H

extern const char M40_SOURCE_NAME;
const char M40_SOURCE_NAME = 0;

#endif
