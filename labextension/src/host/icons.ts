/**
 * Icons: a falling loss curve for jobs, a start button for Train, a folder with an arrow for the data explorer, two
 * machines for platforms.
 */

import { LabIcon } from '@jupyterlab/ui-components';

export const jobsIcon = new LabIcon({
  name: 'jupyter-pai:jobs',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">' +
    '<path class="jp-icon3" fill="#616161" d="M3 3h2v16h16v2H3V3z"/>' +
    '<path class="jp-icon3" fill="#616161" d="M6.6 5.2l2-.4c1.2 6.6 3.6 8.7 12.4 9.2v2C11 15.5 8 12.5 6.6 5.2z"/>' +
    '</svg>'
});

export const trainIcon = new LabIcon({
  name: 'jupyter-pai:train',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">' +
    '<path class="jp-icon3" fill="#616161" d="M3 3h2v16h16v2H3V3z"/>' +
    '<path class="jp-icon3" fill="#616161" d="M9 4.2v11.6l10-5.8z"/>' +
    '</svg>'
});

export const explorerIcon = new LabIcon({
  name: 'jupyter-pai:explorer',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">' +
    '<path class="jp-icon3" fill="#616161" d="M3 4h6l2 2h10v4h-2V8H5v10h5v2H3z"/>' +
    '<path class="jp-icon3" fill="#616161" d="M16.5 11l4.5 5h-3v5h-3v-5h-3z"/>' +
    '</svg>'
});

export const platformsIcon = new LabIcon({
  name: 'jupyter-pai:platforms',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">' +
    '<path class="jp-icon3" fill="#616161" fill-rule="evenodd" d="M3 4h18v7H3zm2 2v3h14V6zM3 13h18v7H3zm2 2v3h14v-3z"/>' +
    '<path class="jp-icon3" fill="#616161" d="M6 6.7h3v1.6H6zM6 15.7h3v1.6H6z"/>' +
    '</svg>'
});
