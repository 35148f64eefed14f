/** The language of the page, and the translation of settings schemas. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { positionLabel } from '../../../labextension/lib/metrics/axislabels.js';
import { coreCount, count, moment, setLocale } from '../../../labextension/lib/ui/format.js';
import { withLabels } from '../../../labextension/lib/ui/messagetext.js';
import {
  toGettextCatalog,
  languageOf,
  localeOf,
  languageTag,
  translateSchema
} from '../../../labextension/lib/ui/translation.js';

test('the language setting overrides JupyterLab, and Traditional Chinese keeps its own tag', () => {
  const cases: [string, string, string][] = [
    ['auto', 'en', 'en'],
    ['auto', 'zh-CN', 'zh-CN'],
    ['auto', 'zh_CN', 'zh-CN'],
    ['auto', 'zh-TW', 'zh-TW'],
    ['auto', 'zh-Hant-HK', 'zh-Hant-HK'],
    ['auto', 'fr-FR', 'fr-FR'],
    ['zh-CN', 'en', 'zh-CN'],
    ['en', 'zh-CN', 'en'],
    ['klingon', 'en', 'en']
  ];
  for (const [setting, lab, expected] of cases) {
    assert.equal(languageTag(setting, lab), expected, `${setting} ${lab}`);
  }
  assert.equal(languageTag(undefined, 'zh-CN'), 'zh-CN');
});

test('translates titles and descriptions of a schema, not names and values', () => {
  const words: Record<string, string> = {
    Language: '语言',
    'Same as JupyterLab': '与 JupyterLab 相同',
    title: 'WRONG'
  };
  const trans = { __: (text: string) => words[text] ?? text };
  const schema = {
    title: 'Language',
    type: 'object',
    properties: {
      title: { description: 'Language', default: 'Language', oneOf: [{ const: 'auto', title: 'Same as JupyterLab' }] }
    }
  };
  assert.deepEqual(translateSchema(schema, trans as never), {
    title: '语言',
    type: 'object',
    properties: {
      title: { description: '语言', default: 'Language', oneOf: [{ const: 'auto', title: '与 JupyterLab 相同' }] }
    }
  });
});

test('converts a catalog to the format of gettext, and reads a missing one as English', () => {
  const texts = { '': { language: 'zh-CN', plural_forms: 'nplurals=1; plural=0;' }, Jobs: ['作业'] };
  assert.equal(languageOf(texts), 'zh-CN');
  assert.deepEqual(toGettextCatalog(texts), {
    '': { language: 'zh-CN', domain: 'jupyter_pai', pluralForms: 'nplurals=1; plural=0;' },
    Jobs: ['作业']
  });
  for (const nothing of [{}, null, undefined, [], 'x']) {
    assert.equal(languageOf(nothing), '');
  }
});

test("formats times and numbers in the page's language, with the regional variant of the browser", () => {
  const cases: [string, string[], string | undefined][] = [
    ['zh-CN', ['en-US', 'en'], 'zh-CN'],
    ['zh-CN', ['en-US', 'zh-TW', 'zh-SG'], 'zh-SG'],
    ['en', ['zh-CN', 'zh', 'en-GB', 'en-US'], 'en-GB'],
    ['en', ['zh-CN'], 'en'],
    ['fr-FR', ['en', 'fr_CA', ''], 'fr-FR'],
    ['no tag', ['en'], undefined],
    ['', [''], undefined]
  ];
  for (const [language, preferred, expected] of cases) {
    assert.equal(localeOf(language, preferred), expected, `${language} ${preferred.join()}`);
  }
  const noon = new Date(2026, 10, 22, 12, 5, 9).getTime();
  const seen = ['zh-CN', 'en-US', 'de-DE'].map(tag => {
    setLocale(tag);
    assert.equal(positionLabel('clock', noon / 1000), moment(noon));
    return [moment(noon).replace(/\s/g, ' '), moment(noon, { month: 'numeric', day: 'numeric' }), count(12345.5)];
  });
  setLocale(undefined);
  assert.deepEqual(seen, [
    ['2026/11/22 12:05:09', '11/22', '12,345.5'],
    ['11/22/2026, 12:05:09 PM', '11/22', '12,345.5'],
    ['22.11.2026, 12:05:09', '22.11.', '12.345,5']
  ]);
  assert.equal(moment(null), '–');
});

test('one core is counted in the singular', () => {
  const trans = { __: (text: string, value: string) => text.replace('%1', value) } as never;
  assert.deepEqual(
    [1, 2, 0.5].map(cores => coreCount(cores, trans)),
    ['1 core', '2 cores', '0.5 cores']
  );
});

test('a field and its value in a message are joined as the language of the page does', () => {
  const words: Record<string, string> = { Folder: '目录', '%1: %2': '%1：%2' };
  const trans = {
    __: (text: string, ...values: string[]) =>
      values.reduce((all, value, n) => all.replace(`%${n + 1}`, value), words[text] ?? text)
  } as never;
  assert.equal(withLabels('要把它也打包：--source /home/a。', trans), '要把它也打包：目录：/home/a。');
});
