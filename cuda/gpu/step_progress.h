// What the device's library keeps of a step between m40_step_begin and m40_step_finish.
#ifndef M40_RUNTIME_STEP_PROGRESS_H
#define M40_RUNTIME_STEP_PROGRESS_H

#include "device_seat.h"
#include "step_executors.h"
#include "step_forecast.h"
#include "step_input.h"

namespace m40::cuda {

struct StepProgress {
  StepShape shape = {};
  bool woken = false;  // m40_step_wait has returned by the forecast
  bool timed = false;  // its end was seen
  uint32_t executor = M40_EXECUTOR_LAUNCHES;  // what it is run by
  bool measures = false;                      // how long that takes is to be noted
  uint64_t input_bytes = 0;                   // of the input, which lies in the program's host memory
  LaunchedWork work;                          // where it is run by launches or graphs
  StepTimer timer;
  Clock::time_point begun;
  StepForecast forecast;
  StepForecast run_forecast;  // of steps of runs: the host is no part of them
};

}  // namespace m40::cuda

#endif
