/**
 * The names of our commands. What they take stands in `commands.ts`.
 */

export const COMMANDS = {
  showJobs: 'jupyter-pai:show-jobs',
  openJob: 'jupyter-pai:open-job',
  compareJobs: 'jupyter-pai:compare-jobs',
  stopJob: 'jupyter-pai:stop-job'
} as const;
