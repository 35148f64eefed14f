/**
 * The context shared by all plugins: the engine, the environment and the language of the page.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Gettext, ITranslator, nullTranslator } from '@jupyterlab/translation';
import { IFormRendererRegistry } from '@jupyterlab/ui-components';
import * as React from 'react';

import { ServerEngine } from '../api/http.js';
import { record } from '../api/wire.js';
import { LabHost } from '../host/lab.js';
import { PAGE_SETTINGS, pageSettings } from '../host/settings.js';
import type { IContext } from '../ui/context.js';
import { setLocale } from '../ui/format.js';
import {
  DOMAIN,
  isTranslated,
  languageOf,
  languageTag,
  localeOf,
  toGettextCatalog,
  translateSchema
} from '../ui/translation.js';
import { IPage } from './tokens.js';

export const pagePlugin: JupyterFrontEndPlugin<IContext> = {
  id: PAGE_SETTINGS,
  description: 'Connects the page to the training jobs of its server.',
  autoStart: true,
  provides: IPage,
  optional: [ITranslator, ILabShell, IDefaultFileBrowser, ISettingRegistry],
  activate: async (
    app: JupyterFrontEnd,
    translator: ITranslator | null,
    shell: ILabShell | null,
    files: IDefaultFileBrowser | null,
    registry: ISettingRegistry | null
  ) => {
    const lab = translator ?? nullTranslator;
    let trans: TranslationBundle = nullTranslator.load(DOMAIN);
    registry?.transform(PAGE_SETTINGS, { fetch: plugin => translatePlugin(plugin, trans) });
    const settings = await pageSettings(registry);
    const languageSetting = () => settings?.get('language').composite;
    const language = languageTag(languageSetting(), lab.languageCode);
    setLocale(localeOf(language, navigator.languages));
    const engine = new ServerEngine(app.serviceManager.serverSettings, () => trans, language);
    trans = await loadTranslation(lab, language, engine);
    settings?.changed.connect(() => {
      if (languageTag(languageSetting(), lab.languageCode) !== language) {
        askToReload(trans);
      }
    });
    // Transform the schema again: the language was unknown the first time.
    void registry?.load(PAGE_SETTINGS, true).catch(() => null);
    const lang = isTranslated(trans) ? language : 'en';
    return { engine, trans, lang, host: new LabHost(app, trans, lang, shell, files) };
  }
};

/** Return JupyterLab's translation if it has our texts in this language, else our own catalog. */
async function loadTranslation(lab: ITranslator, language: string, engine: ServerEngine): Promise<TranslationBundle> {
  const labTranslation = lab.load(DOMAIN);
  if (languageTag('', lab.languageCode) === language && (language === 'en' || isTranslated(labTranslation))) {
    return labTranslation;
  }
  const translation = new Gettext({ domain: DOMAIN, locale: language });
  const response = await engine.call('catalogue', { language }).catch(() => ({}));
  const { texts } = record(response);
  if (languageOf(texts)) {
    translation.loadJSON(toGettextCatalog(texts), DOMAIN);
  }
  return translation;
}

function translatePlugin(plugin: ISettingRegistry.IPlugin, trans: TranslationBundle): ISettingRegistry.IPlugin {
  return { ...plugin, schema: translateSchema(plugin.schema, trans) as ISettingRegistry.ISchema };
}

function askToReload(trans: TranslationBundle): void {
  const actions = [{ label: trans.__('Reload'), callback: () => location.reload() }];
  Notification.info(trans.__('Reload the page to change the language.'), { autoClose: false, actions });
}

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
