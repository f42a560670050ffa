// Keeps the library with CUDA's static runtime in it loadable where glibc is as old as 2.31, as portability.cpp does
// for the rest.
//
// glibc 2.34 moved what was in libdl, libpthread and librt into libc, under new versions, and what is linked on such a
// system asks for those. The old versions are the same functions: each hidden name below, which the linker prefers,
// jumps to one of them. Old systems have them in the libraries of old, which the link line names.
#if !defined(M40_EMULATED) && defined(__x86_64__) && defined(__linux__)

#define M40_OLD_SYMBOL(name)                             \
  __asm__(                                               \
      ".symver m40_old_" #name ", " #name "@GLIBC_2.2.5\n" \
      ".text\n"                                          \
      ".globl " #name "\n"                               \
      ".hidden " #name "\n"                              \
      ".type " #name ", @function\n" #name ":\n"         \
      "  jmp *m40_old_" #name "@GOTPCREL(%rip)\n"        \
      ".size " #name ", .-" #name "\n");

M40_OLD_SYMBOL(dladdr)
M40_OLD_SYMBOL(dlclose)
M40_OLD_SYMBOL(dlerror)
M40_OLD_SYMBOL(dlopen)
M40_OLD_SYMBOL(dlsym)
M40_OLD_SYMBOL(dlvsym)
M40_OLD_SYMBOL(pthread_condattr_setpshared)
M40_OLD_SYMBOL(pthread_create)
M40_OLD_SYMBOL(pthread_detach)
M40_OLD_SYMBOL(pthread_getspecific)
M40_OLD_SYMBOL(pthread_join)
M40_OLD_SYMBOL(pthread_key_create)
M40_OLD_SYMBOL(pthread_key_delete)
M40_OLD_SYMBOL(pthread_kill)
M40_OLD_SYMBOL(pthread_mutex_trylock)
M40_OLD_SYMBOL(pthread_mutexattr_destroy)
M40_OLD_SYMBOL(pthread_mutexattr_init)
M40_OLD_SYMBOL(pthread_mutexattr_setpshared)
M40_OLD_SYMBOL(pthread_mutexattr_settype)
M40_OLD_SYMBOL(pthread_once)
M40_OLD_SYMBOL(pthread_rwlock_destroy)
M40_OLD_SYMBOL(pthread_rwlock_init)
M40_OLD_SYMBOL(pthread_rwlock_rdlock)
M40_OLD_SYMBOL(pthread_rwlock_timedrdlock)
M40_OLD_SYMBOL(pthread_rwlock_timedwrlock)
M40_OLD_SYMBOL(pthread_rwlock_tryrdlock)
M40_OLD_SYMBOL(pthread_rwlock_trywrlock)
M40_OLD_SYMBOL(pthread_rwlock_unlock)
M40_OLD_SYMBOL(pthread_rwlock_wrlock)
M40_OLD_SYMBOL(pthread_rwlockattr_destroy)
M40_OLD_SYMBOL(pthread_rwlockattr_init)
M40_OLD_SYMBOL(pthread_rwlockattr_setpshared)
M40_OLD_SYMBOL(pthread_setspecific)
M40_OLD_SYMBOL(sem_destroy)
M40_OLD_SYMBOL(sem_init)
M40_OLD_SYMBOL(sem_post)
M40_OLD_SYMBOL(sem_timedwait)
M40_OLD_SYMBOL(sem_trywait)
M40_OLD_SYMBOL(sem_wait)
M40_OLD_SYMBOL(shm_open)
M40_OLD_SYMBOL(shm_unlink)

#endif
