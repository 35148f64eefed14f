/**
 * The settings of the engine in the JupyterLab settings editor.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IFormRendererRegistry } from '@jupyterlab/ui-components';
import * as React from 'react';

import { PAGE_SETTINGS } from '../host/settings.js';
import type { IContext } from '../ui/context.js';
import { IPage } from './tokens.js';

const EngineSettings = React.lazy(async () => {
  const { EngineSettings } = await import('../profiles/enginesettings.js');
  return { default: EngineSettings };
});

export const settingsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-pai:settings',
  description: 'Shows the settings of the engine in the JupyterLab settings editor.',
  autoStart: true,
  requires: [IPage, IFormRendererRegistry],
  activate: (_app: JupyterFrontEnd, { engine, trans }: IContext, forms: IFormRendererRegistry) => {
    const fieldRenderer = ({
      schema
    }: {
      schema: { title?: string | undefined; description?: string | undefined };
    }) => (
      <fieldset className="jp-pai-Settings">
        <legend>{schema.title}</legend>
        <p>{schema.description}</p>
        <React.Suspense fallback={null}>
          <EngineSettings engine={engine} trans={trans} />
        </React.Suspense>
      </fieldset>
    );
    forms.addRenderer(`${PAGE_SETTINGS}.kept`, { fieldRenderer });
  }
};
