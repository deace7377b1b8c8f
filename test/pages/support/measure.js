// Runs in the page: what a person with weak eyes, a thumb or a screen reader meets. Gives plain values.
(() => {
  const luminance = (colour) => {
    const [red, green, blue] = colour
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const parsed = (text) => {
    const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number);
    return { colour: [red, green, blue], alpha };
  };
  const over = ({ colour, alpha }, below) => below.map((value, i) => value * (1 - alpha) + colour[i] * alpha);
  const backgroundOf = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement)
      layers.unshift(parsed(getComputedStyle(each).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const shown = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 && height > 0 && element.checkVisibility();
  };
  const name = (element) => `${element.tagName} ${element.className} ${element.textContent.trim().slice(0, 40)}`;
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
  const withText = all('body *').filter(
    (element) =>
      element.closest('svg') === null &&
      [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()),
  );
  const contrast = (element) => {
    const background = backgroundOf(element);
    const [light, dark] = [
      luminance(over(parsed(getComputedStyle(element).color), background)),
      luminance(background),
    ].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  return {
    texts: withText.length,
    pale: withText.filter((each) => contrast(each) < 4.5).map((each) => `${name(each)} ${contrast(each).toFixed(2)}`),
    small: withText.filter((each) => parseFloat(getComputedStyle(each).fontSize) < 14).map(name),
    low: all('a, button, input, select')
      .filter((each) => each.getBoundingClientRect().height < 40)
      .map(name),
    sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    headings: all('h1, h2, h3, h4, h5, h6').map((each) => Number(each.tagName[1])),
    unlabelled: all('input, select, textarea')
      .filter((each) => each.labels.length === 0 && !each.getAttribute('aria-label'))
      .map(name),
    lang: document.documentElement.lang,
    title: document.title,
  };
})();
