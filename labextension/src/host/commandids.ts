/**
 * Ids of the commands. Their arguments are documented where they are added.
 */

export const COMMANDS = {
  showJobs: 'jupyter-pai:show-jobs',
  openJob: 'jupyter-pai:open-job',
  compareJobs: 'jupyter-pai:compare-jobs',
  stopJob: 'jupyter-pai:stop-job',
  openWorkflow: 'jupyter-pai:open-workflow',
  stopWorkflow: 'jupyter-pai:stop-workflow',
  resumeWorkflow: 'jupyter-pai:resume-workflow',
  deleteWorkflow: 'jupyter-pai:delete-workflow',
  showTrain: 'jupyter-pai:show-train',
  showExplorer: 'jupyter-pai:show-explorer',
  showPlatforms: 'jupyter-pai:show-platforms',
  train: 'jupyter-pai:train',
  trainAgain: 'jupyter-pai:train-again',
  profiles: 'jupyter-pai:profiles',
  addPlatform: 'jupyter-pai:add-platform',
  copyItem: 'jupyter-pai:copy-item',
  trainItem: 'jupyter-pai:train-item',
  openTutorials: 'jupyter-pai:open-tutorials'
} as const;
