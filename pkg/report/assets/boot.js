/* Draws the charts of the page from the options in its data-chart elements. The
   options are plain JSON; colours that start with -- are custom properties. */
(function () {
  'use strict';
  var root = document.documentElement;
  var dark = window.matchMedia('(prefers-color-scheme: dark)');
  var charts = [];

  function property(name) {
    return getComputedStyle(root).getPropertyValue(name).trim();
  }

  function family() {
    return getComputedStyle(document.body).fontFamily;
  }

  // Replaces --names by what they stand for, under keys that hold colours only.
  function paint(value, key) {
    if (Array.isArray(value)) {
      return value.map(function (v) { return paint(v, ''); });
    }
    if (value !== null && typeof value === 'object') {
      var painted = {};
      Object.keys(value).forEach(function (k) { painted[k] = paint(value[k], k); });
      return painted;
    }
    if ((key === 'color' || key === 'borderColor') && typeof value === 'string' && value.indexOf('--') === 0) {
      return property(value);
    }
    return value;
  }

  function theme() {
    var ink = property('--ink'), muted = property('--muted'), line = property('--line'), paper = property('--paper');
    var axis = {
      axisLine: { lineStyle: { color: property('--axis') } },
      axisTick: { show: false },
      axisLabel: { color: muted, fontSize: 11 },
      splitLine: { lineStyle: { color: line } },
      nameTextStyle: { color: muted }
    };
    return {
      backgroundColor: 'transparent',
      textStyle: { fontFamily: family(), color: ink },
      categoryAxis: Object.assign({}, axis, {
        splitLine: { show: false }, axisLabel: { color: ink, fontSize: 12 }
      }),
      valueAxis: axis,
      logAxis: Object.assign({}, axis, { minorSplitLine: { show: false } }),
      tooltip: {
        confine: true, backgroundColor: paper, borderColor: line, padding: [6, 9],
        textStyle: { color: ink, fontSize: 12 },
        axisPointer: { lineStyle: { color: muted, type: 'solid', width: 1 } }
      }
    };
  }

  // One bar's whisker, its trials as dots, and the median as text beyond both.
  function trials(params, api) {
    var payload = params.itemPayload;
    var mark = payload.marks[params.dataIndex];
    var category = api.value(1);
    var children = [];
    function at(x) { return api.coord([x, category]); }
    var zero = at(0);
    var right = zero[0];
    if (mark.median !== undefined) { right = Math.max(right, at(mark.median)[0]); }
    if (mark.min !== undefined) {
      var low = at(mark.min), high = at(mark.max);
      right = Math.max(right, high[0]);
      [[low, high, 0], [low, low, 5], [high, high, 5]].forEach(function (l) {
        children.push({
          type: 'line',
          shape: { x1: l[0][0], y1: l[0][1] - l[2], x2: l[1][0], y2: l[1][1] + l[2] },
          style: { stroke: payload.ink.color, lineWidth: 1.25 }
        });
      });
    }
    (mark.points || []).forEach(function (x) {
      var p = at(x);
      right = Math.max(right, p[0]);
      children.push({
        type: 'circle', shape: { cx: p[0], cy: p[1], r: 2.6 },
        style: { fill: payload.paper.color, stroke: payload.ink.color, lineWidth: 1.1 }
      });
    });
    children.push({
      type: 'text', x: right + 7, y: zero[1],
      style: { text: mark.text, fill: payload.ink.color, fontSize: 11.5, fontFamily: family(), verticalAlign: 'middle' }
    });
    return { type: 'group', children: children };
  }

  // One row of a forest plot: the interval, the trials above it, the mean ratio.
  function ratios(params, api) {
    var payload = params.itemPayload;
    var mark = payload.marks[params.dataIndex];
    var category = api.value(1);
    var children = [];
    function at(x) { return api.coord([x, category]); }
    var middle = at(mark.median);
    var right = middle[0];
    if (mark.min !== undefined) {
      var low = at(mark.min), high = at(mark.max);
      right = Math.max(right, high[0]);
      children.push({
        type: 'line', shape: { x1: low[0], y1: low[1], x2: high[0], y2: high[1] },
        style: { stroke: mark.color, lineWidth: 2.5 }
      });
    }
    children.push({
      type: 'rect', shape: { x: middle[0] - 5, y: middle[1] - 5, width: 10, height: 10 },
      style: { fill: mark.color, stroke: payload.paper.color, lineWidth: 1 }
    });
    (mark.points || []).forEach(function (x) {
      var p = at(x);
      right = Math.max(right, p[0]);
      children.push({
        type: 'circle', shape: { cx: p[0], cy: p[1], r: 2.4 },
        style: { fill: payload.paper.color, stroke: payload.ink.color, lineWidth: 1 }
      });
    });
    children.push({
      type: 'text', x: right + 9, y: middle[1],
      style: { text: mark.text, fill: payload.ink.color, fontSize: 11.5, fontFamily: family(), verticalAlign: 'middle' }
    });
    return { type: 'group', children: children };
  }

  function draw() {
    charts.forEach(function (c) { c.dispose(); });
    charts = [];
    drawVisible();
  }

  // A chart in closed details is drawn when they are opened: a sweep has hundreds. What is
  // below the first screen is drawn when the page has been shown, or at once to be printed.
  function drawVisible() {
    drawAll(root.dataset.scheme ? Infinity : window.innerHeight);
    clearTimeout(later);
    later = setTimeout(drawNext, 0);
  }

  var later = 0;
  function drawNext() {
    if (drawAll(Infinity, 1)) { later = setTimeout(drawNext, 0); } else { root.dataset.drawn = ''; }
  }

  // Draws what begins above an edge, limit charts at most, and says whether it drew any.
  function drawAll(edge, limit) {
    var look = theme();
    var drawn = 0;
    delete root.dataset.drawn;
    document.querySelectorAll('script[data-chart]').forEach(function (source) {
      var box = document.getElementById('chart-' + source.getAttribute('data-chart'));
      if (drawn === limit || box.closest('details:not([open])') || echarts.getInstanceByDom(box)) { return; }
      if (edge !== Infinity && box.getBoundingClientRect().top > edge) { return; }
      drawn++;
      var chart = echarts.init(box, look, { renderer: 'svg' });
      chart.setOption(Object.assign({ animation: false }, paint(JSON.parse(source.textContent), '')));
      charts.push(chart);
      document.querySelectorAll('button[data-toggle="' + source.getAttribute('data-chart') + '"]').forEach(function (button) {
        if (button.getAttribute('aria-pressed') === 'false') { toggle(chart, button); }
      });
    });
    return drawn > 0;
  }

  function toggle(chart, button) {
    chart.dispatchAction({
      type: button.getAttribute('aria-pressed') === 'true' ? 'legendSelect' : 'legendUnSelect',
      name: button.getAttribute('data-series')
    });
  }

  document.querySelectorAll('button[data-toggle]').forEach(function (button) {
    button.addEventListener('click', function () {
      button.setAttribute('aria-pressed', button.getAttribute('aria-pressed') === 'true' ? 'false' : 'true');
      var chart = echarts.getInstanceByDom(document.getElementById('chart-' + button.getAttribute('data-toggle')));
      if (chart) { toggle(chart, button); }
    });
  });

  function copied(button) {
    var text = button.textContent;
    button.textContent = 'Copied';
    setTimeout(function () { button.textContent = text; }, 1500);
  }

  // Where a page has no clipboard (a plain http: address), a selection has.
  function copyBySelection(text) {
    var area = document.createElement('textarea');
    area.value = text;
    area.setAttribute('readonly', '');
    area.className = 'offscreen';
    document.body.appendChild(area);
    area.select();
    var done = document.execCommand('copy');
    document.body.removeChild(area);
    return done;
  }

  document.querySelectorAll('button[data-copy]').forEach(function (button) {
    button.addEventListener('click', function () {
      var text = JSON.parse(document.getElementById(button.getAttribute('data-copy')).textContent);
      if (navigator.clipboard) {
        navigator.clipboard.writeText(text).then(
          function () { copied(button); },
          function () { if (copyBySelection(text)) { copied(button); } });
      } else if (copyBySelection(text)) {
        copied(button);
      }
    });
  });

  echarts.registerCustomSeries('bgTrials', trials);
  echarts.registerCustomSeries('bgRatios', ratios);
  draw();
  document.addEventListener('toggle', drawVisible, true); // it does not bubble
  dark.addEventListener('change', draw);
  // Paper is light whatever the screen is, and narrower: a view box lets page.css
  // shrink the drawings to it.
  window.addEventListener('beforeprint', function () {
    root.dataset.scheme = 'light';
    draw();
    document.querySelectorAll('.chart svg').forEach(function (svg) {
      svg.setAttribute('viewBox', '0 0 ' + svg.getAttribute('width') + ' ' + svg.getAttribute('height'));
    });
  });
  window.addEventListener('afterprint', function () { delete root.dataset.scheme; draw(); });
  var pending = 0;
  window.addEventListener('resize', function () {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(function () {
      if (root.dataset.scheme) { return; } // printing
      charts.forEach(function (c) { c.resize(); });
    });
  });
}());
